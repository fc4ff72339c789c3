"""Ensembles, as a real Triton and ours load, serve, refuse and drop them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http

from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 100.0]], np.float32)
IN = 'input { name: "x" data_type: TYPE_FP32 dims: 3 }\n'
OUT = 'output { name: "y" data_type: TYPE_FP32 dims: 3 }\n'


def step(model: str, x: str, y: str, version: int = -1, key: str = "y") -> str:
    maps = f'input_map {{ key: "x" value: "{x}" }} output_map {{ key: "{key}" value: "{y}" }}'
    return f'step {{ model_name: "{model}" model_version: {version} {maps} }}\n'


def write(folder: Path, name: str, *steps: str, ends: str = IN + OUT, batch: int = 4) -> None:
    (folder / name / "1").mkdir(parents=True, exist_ok=True)
    text = f'name: "{name}"\nplatform: "ensemble"\nmax_batch_size: {batch}\n{ends}'
    (folder / name / "config.pbtxt").write_text(f"{text}ensemble_scheduling {{\n{''.join(steps)}}}\n")


REFUSED: dict[str, Any] = {
    "e-unknown": {"steps": [step("nobody", "x", "y")]},
    "e-version": {"steps": [step("newest", "x", "y", version=9)]},
    "e-output": {"steps": [step("newest", "x", "y", key="q")]},
    "e-type": {"steps": [step("newest", "x", "y")], "ends": IN + OUT.replace("FP32", "FP64")},
    "e-shape": {"steps": [step("newest", "x", "y")], "ends": IN + OUT.replace("3", "4")},
    "e-batch": {"steps": [step("newest", "x", "y")], "batch": 8},
    "e-twice": {"steps": [step("newest", "x", "y")] * 2},
    "e-unused": {"steps": [step("newest", "x", "y"), step("newest", "x", "t")]},
    "e-nothing": {"steps": [step("newest", "t", "y")]},
    "e-cycle": {"steps": [step("newest", "x", "y"), step("newest", "t", "u"), step("newest", "u", "t")]},
    "e-itself": {"steps": [step("e-itself", "x", "y")]},
    "e-one": {"steps": [step("e-other", "x", "y")]},
    "e-other": {"steps": [step("e-one", "x", "y")]},
}


@pytest.fixture(scope="module", autouse=True)
def folder(host: Any) -> Path:
    folder: Path = host.folder
    write(folder, "chain", step("every", "t", "y"), step("newest", "x", "t"))
    write(folder, "pinned", step("every", "x", "y", version=2))
    write(folder, "outer", step("chain", "x", "y"))
    write(folder, "private", step("two", "x", "y"))
    whole = (IN + OUT).replace("dims: 3", "dims: [-1, 3]")
    write(folder, "whole", step("every", "x", "y"), ends=whole, batch=0)
    for name, ensemble in REFUSED.items():
        write(folder, name, *ensemble["steps"], **{key: ensemble[key] for key in ensemble if key != "steps"})
    with tritonclient.http.InferenceServerClient(host.http) as client:
        for name in ("newest", "every"):
            client.load_model(name)
    return folder


@pytest.mark.parametrize(("name", "added"), [("chain", 6), ("pinned", 2), ("outer", 6), ("whole", 3)])
def test_an_ensemble_computes_its_steps(client: Any, name: str, added: int) -> None:
    client.inner.load_model(name)
    assert np.array_equal(client.ask(name, {"x": X})["y"], X + added)
    assert client.metadata(name)["platform"] == "ensemble"


def test_requests_of_an_ensemble_are_checked(client: Any) -> None:
    client.inner.load_model("chain")
    for array, words in ((np.zeros((5, 3), np.float32), "4"), (np.zeros((1, 3), np.int64), "INT64")):
        status, told = client.refusal("chain", {"x": array})
        assert status in {"400", "INVALID_ARGUMENT"}
        assert words in told


async def test_an_ensemble_brings_its_models_and_takes_them_away(client: Any) -> None:
    client.inner.unload_model("two")
    await eventually(lambda: not client.inner.is_model_ready("two"))
    client.inner.load_model("private")
    assert client.inner.is_model_ready("two")
    client.inner.unload_model("private", unload_dependents=True)
    await eventually(lambda: not client.inner.is_model_ready("private"))
    await eventually(lambda: not client.inner.is_model_ready("two"))


async def test_models_that_somebody_asked_for_stay(client: Any) -> None:
    client.inner.load_model("pinned")
    client.inner.unload_model("pinned", unload_dependents=True)
    await eventually(lambda: not client.inner.is_model_ready("pinned"))
    assert client.inner.is_model_ready("every")


async def test_an_ensemble_is_away_as_long_as_one_of_its_models_is(client: Any) -> None:
    client.inner.load_model("pinned")
    client.inner.unload_model("every")
    await eventually(lambda: not client.inner.is_model_ready("pinned"))
    await eventually(lambda: not client.ready() & {("pinned", "1")})
    assert client.refusal("pinned", {"x": X})[0] in {"404", "NOT_FOUND"}
    client.inner.load_model("every")
    await eventually(lambda: client.inner.is_model_ready("pinned"))
    assert np.array_equal(client.ask("pinned", {"x": X})["y"], X + 2)


@pytest.mark.parametrize("name", REFUSED)
def test_ensembles_that_are_refused_when_they_are_loaded(client: Any, name: str) -> None:
    with pytest.raises(Exception, match=name):
        client.inner.load_model(name)
    assert not client.inner.is_model_ready(name)
