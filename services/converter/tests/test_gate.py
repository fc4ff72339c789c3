"""What counts as equal, and the traps that other comparers fall into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trainyard.common.contract.conversions import Tolerance
from trainyard.converter.core.gate import compare, tolerance_for

NAN, INF = float("nan"), float("inf")


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("reference", "found", "fault"),
    [
        (f32(1, 2), f32(1, 2.000001), ""),
        (f32(1, 2), f32(1, 2.1), "1 of 2 elements differ"),
        (f32(0, 1), f32(0.5, 1), "at most by 0.5 at [0]"),
        (f32(NAN, 1), f32(NAN, 1), ""),
        (f32(NAN, 1), f32(1, 1), "NaN at 0 places instead of 1"),
        (f32(INF, 1), f32(INF, 1), ""),
        (f32(INF, 1), f32(-INF, 1), "+inf at 0 places"),
        (f32(INF, 1), f32(3e38, 1), "+inf at 0 places"),
        (np.ones((3, 1), np.float32), np.ones(3, np.float32), "shape [3] instead of [3, 1]"),
        (np.ones(3, np.float32), np.ones(3, np.float64), "dtype float64 instead of float32"),
        (np.array([1, 2], np.uint8), np.array([2, 1], np.uint8), "2 of 2 elements differ"),
        (np.array([True, False]), np.array([True, True]), "1 of 2 elements differ"),
        (np.array([2**60], np.int64), np.array([2**60 + 1], np.int64), "1 of 1 elements differ"),
        (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32), ""),
        (np.array(2.5, np.float32), np.array(2.5, np.float32), ""),
    ],
)
def test_cases(reference: Any, found: Any, fault: str) -> None:
    result = compare("c", "o", reference, found)
    assert result.passed == (not fault)
    assert fault in result.fault


@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=3, max_side=5), elements=st.floats(width=32)))
def test_everything_is_equal_to_itself(array: Any) -> None:
    assert compare("c", "o", array, array.copy()).passed


def test_the_numbers_of_a_comparison() -> None:
    reference = np.array([[0.0, 1.0], [2.0, -4.0]], np.float32)
    found = np.array([[0.001, 1.0], [2.0, -4.5]], np.float32)
    result = compare("c", "o", reference, found)
    assert result.max_abs == pytest.approx(0.5)
    assert result.max_rel == pytest.approx(0.125)
    assert result.worst == (1, 1)
    assert result.argmax_agreement == 1.0
    assert result.cosine == pytest.approx(1.0, abs=1e-2)


def test_tolerances_by_dtype_and_by_hand() -> None:
    assert tolerance_for(np.ones(2, np.float64)).rtol < tolerance_for(np.ones(2, np.float32)).rtol
    assert tolerance_for(np.ones(2, np.float16)).rtol == 1e-2
    assert tolerance_for(np.full(4, 1000, np.float32)).atol == pytest.approx(0.1)
    loose = Tolerance(rtol=0, atol=1)
    assert compare("c", "o", f32(1), f32(1.9), loose).passed
    assert not compare("c", "o", f32(1), f32(1.9)).passed
