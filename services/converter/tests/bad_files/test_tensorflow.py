"""Graphs of TensorFlow that reach files, in whatever part of a model, and broken ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.workers.tensorflow_operators import HARMFUL, STORING

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=60, memory=4 * 2**30)
ROOT = Path(__file__).parents[4]
SAME = "reaches files or code; convert.trust lets it"


@pytest.fixture
def made(make_files: Callable[..., Path]) -> Path:
    return make_files("tensorflow", "tensorflow")


def take(made: Path, given: Path, name: str) -> None:
    if (made / name).is_dir():
        shutil.copytree(made / name, given / name)
    else:
        shutil.copy(made / name, given)


REACHING = {
    "writes": "(WriteFile)",
    "writes.pb": "(WriteFile)",
    "reads": "(TextLineDataset)",
    "reads.pb": "(TextLineDataset)",
    "maps": "(ImmutableConst)",
    "maps.pb": "(ImmutableConst)",
    "saves": "(SaveV2)",
    "saves.pb": "(SaveV2)",
    "restores": "(RestoreV2)",
    "restores.pb": "(RestoreV2)",
    "nested": "(SaveV2)",
    "nested.pb": "(SaveV2)",
    "starts": "(SaveV2)",
    "vocabulary": "(InitializeTableFromTextFileV2)",
}


@pytest.mark.parametrize("kind", REACHING)
async def test_a_bad_graph_that_reaches_files_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    take(made, given, kind)
    said = await refusal(kind, limits=LIMITS)
    assert REACHING[kind] in said
    assert SAME in said
    assert not list(made.glob("HARM*"))


async def test_trusted_code_may_reach_files(given: Path, made: Path, convert_file: Any) -> None:
    take(made, given, "starts")
    proven = await convert_file("starts", trust=True, limits=LIMITS)
    assert proven.report.verdict == "proven"
    left = list(made.glob("HARM*"))
    for file in left:
        file.unlink()
    assert left  # so it is seen where code runs


@pytest.mark.parametrize("kind", ["honest", "honest.pb", "first"])
async def test_a_graph_that_computes_is_converted(given: Path, made: Path, convert_file: Any, kind: str) -> None:
    take(made, given, kind)
    proven = await convert_file(kind, limits=LIMITS)
    assert proven.report.verdict == "proven"


def half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def noise(file: Path) -> None:
    file.write_bytes(b"\xff" * 5000)


BROKEN: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "half a SavedModel": ("honest", lambda model: half(model / "saved_model.pb"), "cannot be read as a SavedModel"),
    "a SavedModel of noise": (
        "honest",
        lambda model: noise(model / "saved_model.pb"),
        "cannot be read as a SavedModel",
    ),
    "an empty SavedModel": (
        "honest",
        lambda model: (model / "saved_model.pb").write_bytes(b""),
        "cannot be read as a SavedModel",
    ),
    "a SavedModel without variables": (
        "honest",
        lambda model: shutil.rmtree(model / "variables"),
        "cannot be read as a SavedModel",
    ),
    "half its variables": (
        "honest",
        lambda model: half(model / "variables" / "variables.data-00000-of-00001"),
        "cannot be read as a SavedModel",
    ),
    "an index of noise": (
        "honest",
        lambda model: noise(model / "variables" / "variables.index"),
        "cannot be read as a SavedModel",
    ),
    "half a frozen graph": ("honest.pb", half, "honest.pb cannot be read as a frozen graph"),
    "a frozen graph of noise": ("honest.pb", noise, "honest.pb cannot be read as a frozen graph"),
    "an empty frozen graph": ("honest.pb", lambda file: file.write_bytes(b""), "the graph has no placeholder"),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_bad_graph_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    name, damage, words = BROKEN[kind]
    take(made, given, name)
    damage(given / name)
    assert words in await refusal(name, limits=LIMITS)


NO_FILES = {
    "RegexReplace", "RegexFullMatch", "StaticRegexReplace", "StaticRegexFullMatch", "IdentityReader", "IdentityReaderV2",
    "SetStatsAggregatorDataset", "ExperimentalSetStatsAggregatorDataset", "SnapshotNestedDatasetReader",
}  # fmt: skip
"""Their patterns and prefixes are of texts; what they read comes from other operators."""


def test_no_operator_that_takes_a_path_is_missing(images: Path) -> None:
    python = cache.ensure(
        catalogue.read(ROOT / "deploy" / "converters", "tensorflow"), images, lambda words: None
    ).python
    lister = Path(__file__).parent / "list_tensorflow_operators.py"
    reaching = json.loads(subprocess.run([python, lister], capture_output=True, check=True, timeout=200).stdout)
    assert set(reaching) - HARMFUL - STORING == NO_FILES
