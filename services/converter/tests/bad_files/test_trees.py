"""Models of XGBoost, LightGBM and CatBoost with absurd numbers, and broken ones: C++ reads them, and trusts its files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=20, memory=2 * 2**30)
Damage = Callable[[bytes], bytes]


@pytest.fixture
def made(make_files: Callable[..., Path]) -> Path:
    return make_files("trees", "classical")


def said(**numbers: str) -> Damage:
    """LightGBM's text with other values after these names, in every tree."""

    def change(text: bytes) -> bytes:
        for name, value in numbers.items():
            text, count = re.subn(rf"^{name}=.*$".encode(), f"{name}={value}".encode(), text, flags=re.MULTILINE)
            assert count
        return text

    return change


def told(*path: str | int, value: object) -> Damage:
    """XGBoost's JSON with another value at this path."""

    def change(text: bytes) -> bytes:
        document = inner = json.loads(text)
        for key in path[:-1]:
            inner = inner[key]
        assert path[-1] in inner or isinstance(path[-1], int)
        inner[path[-1]] = value
        return json.dumps(document).encode()

    return change


SEGMENTATION = "crashes what reads it (Segmentation fault), as broken files do"
ABORTED = "crashes what reads it (Aborted), as broken files do"
TREE = ("learner", "gradient_booster", "model", "trees", 0)

BAD: dict[str, tuple[str, Damage, str]] = {
    "100,000 levels of JSON": ("net.json", lambda text: b'{"learner":' * 100_000 + b"1" + b"}" * 100_000, SEGMENTATION),
    "100,000 levels of lists": (
        "net.json",
        lambda text: b'{"learner":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        SEGMENTATION,
    ),
    "no learner": ("net.json", lambda text: b'{"learner": {}}', "net.json cannot be read as xgboost: map::at"),
    "half of it": ("net.json", lambda text: text[: len(text) // 2], "net.json cannot be read as xgboost: Expecting"),
    "a child beyond all nodes": (
        "net.json",
        told(*TREE, "left_children", value=[2**30] * 3),
        "net.json cannot be read as xgboost: Check failed: lefts.size() == n_nodes",
    ),
    "a circle of nodes": ("net.json", told(*TREE, "left_children", 1, value=0), SEGMENTATION),
    "more nodes than it has": (
        "net.json",
        told(*TREE, "tree_param", "num_nodes", value="2000000000"),
        "net.json cannot be read as xgboost: Check failed",
    ),
    "features beyond all": ("net.json", told(*TREE, "split_indices", 0, value=2**30), SEGMENTATION),
    "billions of features": (
        "net.json",
        told("learner", "learner_model_param", "num_feature", value="2000000000"),
        "inputs of a batch of 32 take 238.4 GiB, the most is 1.0 GiB",
    ),
    "billions of trees": (
        "net.json",
        told("learner", "gradient_booster", "model", "gbtree_model_param", "num_trees", value="2000000000"),
        "net.json cannot be read as xgboost: Check failed: trees_json.size() == param.num_trees",
    ),
    "billions of classes": (
        "net.json",
        told("learner", "learner_model_param", "num_class", value="2000000000"),
        "net.json cannot be read as xgboost: std::bad_alloc",
    ),
    "half of it in UBJSON": ("net.ubj", lambda text: text[: len(text) // 2], "net.ubj cannot be read as xgboost: "),
    "an array of 2**60 in UBJSON": (
        "net.ubj",
        lambda text: text[:20] + b"[$d#L" + (2**60).to_bytes(8, "big") + text[20:],
        "net.ubj cannot be read as xgboost: ",
    ),
    "100,000 levels of UBJSON": (
        "net.ubj",
        lambda text: b"[" * 100_000,
        "net.ubj cannot be read as xgboost: Check failed",
    ),
    "half a text": ("net.txt", lambda text: text[: len(text) // 2], SEGMENTATION),
    "billions of leaves": ("net.txt", said(num_leaves="2000000000"), ABORTED),
    "leaves below nothing": ("net.txt", said(num_leaves="-5"), ABORTED),
    "billions of features of LightGBM": (
        "net.txt",
        said(max_feature_idx="2000000000"),
        "net.txt cannot be read as lightgbm: Wrong size of feature_names",
    ),
    "billions of classes of LightGBM": (
        "net.txt",
        said(num_class="2000000000"),
        "MemoryError: Unable to allocate 14.9 GiB",
    ),
    "no trees in an iteration": (
        "net.txt",
        said(num_tree_per_iteration="0"),
        "crashes what reads it (Floating point exception), as broken files do",
    ),
    "a feature beyond all": ("net.txt", said(split_feature=" ".join(["1073741824"] * 30)), ABORTED),
    "a circle of leaves": ("net.txt", said(left_child=" ".join(["0"] * 30)), ABORTED),
    "categories that are none": ("net.txt", said(num_cat="1000000000"), ABORTED),
    "half a CatBoost model": (
        "net.cbm",
        lambda text: text[: len(text) // 2],
        "net.cbm cannot be read as catboost: Failed to read required number of bytes",
    ),
    "noise after its name": (
        "net.cbm",
        lambda text: text[:8] + b"\xff" * 4000,
        "net.cbm cannot be read as catboost: Failed to read required number of bytes",
    ),
    "a size of 4 GiB": ("net.cbm", lambda text: text[:4] + b"\xff\xff\xff\xff" + text[8:], ABORTED),
    "noise in the middle": (
        "net.cbm",
        lambda text: text[:60] + b"\x7f" * 200 + text[260:],
        "net.cbm cannot be read as catboost: Flatbuffers model verification failed",
    ),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_model_of_trees_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    name, damage, words = BAD[kind]
    (given / name).write_bytes(damage((made / name).read_bytes()))
    assert words in await refusal(name, limits=LIMITS, **({"format": "xgboost"} if name == "net.ubj" else {}))


@pytest.mark.parametrize("name", ["net.json", "net.ubj", "net.txt", "net.cbm"])
async def test_an_honest_model_of_trees_is_converted(given: Path, made: Path, convert_file: Any, name: str) -> None:
    shutil.copy(made / name, given)
    proven = await convert_file(name, limits=LIMITS)
    assert proven.report.verdict == "proven"
