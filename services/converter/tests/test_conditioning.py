"""When a difference at an edge is the model's own, and when it is a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trainyard.converter.core import conditioning, gate
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.conditioning import TWIN
from trainyard.converter.core.gate import Comparison

X = {"x": np.linspace(-1000, 1000, 12, dtype=np.float32).reshape(2, 6)}
Model = Callable[[Array], Any]


def smooth(x: Array) -> Any:
    return np.tanh(x)


def switching(x: Array) -> Any:
    """The last bits of its inputs decide."""
    return np.sin(np.multiply(x, 1e4))


def tried(model: Model, off: float, case: str = "large, batch 2") -> Comparison | None:
    cases: dict[str, Case] = {case: X}
    references = {name: {"y": model(inputs["x"])} for name, inputs in {**cases, **conditioning.twins(cases)}.items()}
    found = {"y": (references[case]["y"] + off).astype(np.float32)}
    failed = gate.compare(case, "y", references[case]["y"], found["y"])
    assert not failed.passed
    return conditioning.excused(failed, references, found)


def test_an_answer_that_hangs_on_rounding_may_be_off_as_far() -> None:
    excused = tried(switching, 0.5)
    assert excused is not None
    assert (excused.passed, excused.fault) == (True, "")
    assert excused.atol > 0.5


def test_an_answer_that_holds_still_may_not() -> None:
    assert tried(smooth, 0.002) is None


@pytest.mark.parametrize("case", ["random, batch 2", "samples, batch 2"])
def test_inputs_of_the_model_s_own_range_are_never_excused(case: str) -> None:
    assert tried(switching, 0.5, case) is None


def test_another_shape_or_nan_elsewhere_is_no_rounding() -> None:
    references = {"large": {"y": switching(X["x"])}, "large" + TWIN: {"y": switching(X["x"] + 1)}}
    for wrong in (references["large"]["y"][:, :1], np.full((2, 6), np.nan, np.float32)):
        failed = gate.compare("large", "y", references["large"]["y"], wrong)
        assert conditioning.excused(failed, references, {"y": wrong}) is None


def test_twins_differ_by_rounding_and_integers_have_none() -> None:
    built = {
        "zeros, batch 2": {"x": np.zeros((2, 3), np.float32), "rate": np.array(8000)},
        "ones, batch 2": {"ids": np.ones((2, 3), np.int64)},
        "random, batch 2": {"x": np.ones((2, 3), np.float32)},
    }
    ((name, twin),) = conditioning.twins(built).items()
    assert name == "zeros, batch 2" + TWIN
    assert twin["rate"] == 8000
    assert twin["x"].dtype == np.float32
    assert 0 < np.abs(twin["x"]).max() < 2e-6
