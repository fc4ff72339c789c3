"""The numeric gate, case by case: what is equal, what is not, and what the report says about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trainyard.common.contract.conversions import Tolerance
from trainyard.converter.core import gate

EXACT = Tolerance(rtol=0.0, atol=0.0)


def compare(reference: Any, found: Any, tolerance: Tolerance | None = None, dtype: str = "float32") -> gate.Comparison:
    return gate.compare("case", "y", np.asarray(reference, dtype), np.asarray(found, dtype), tolerance)


def test_the_tolerance_is_atol_plus_rtol_times_the_reference() -> None:
    tolerance = Tolerance(rtol=0.125, atol=0.25)
    assert compare([2.0, -8.0], [2.5, -9.25], tolerance, "float64").passed  # exactly at the border
    outside = compare([2.0, -8.0], [2.5, -9.26], tolerance, "float64")
    assert not outside.passed
    assert outside.worst == (1,)
    assert "1 of 2 elements differ" in outside.fault
    assert "-9.26 instead of -8" in outside.fault


def test_the_reference_scales_the_tolerance_not_the_result() -> None:
    assert not compare([0.0], [100.0], Tolerance(rtol=1.0, atol=0.0)).passed


@pytest.mark.parametrize(
    ("reference", "found", "passed"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], True),
        ([np.nan, 1.0], [1.0, np.nan], False),
        ([np.nan], [0.0], False),
        ([0.0], [np.nan], False),
        ([np.inf, -np.inf], [np.inf, -np.inf], True),
        ([np.inf], [-np.inf], False),
        ([np.inf], [3.4e38], False),
        ([1.0], [np.inf], False),
    ],
)
def test_nan_and_infinity_stand_where_they_should(reference: list[float], found: list[float], passed: bool) -> None:
    assert compare(reference, found).passed is passed


def test_a_column_is_not_a_vector() -> None:
    result = compare([[1.0], [2.0]], [1.0, 2.0])
    assert result.fault == "shape [2] instead of [2, 1]"


def test_dtypes_are_part_of_the_result() -> None:
    result = gate.compare("case", "y", np.zeros(2, np.float32), np.zeros(2, np.float64))
    assert result.fault == "dtype float64 instead of float32"


@pytest.mark.parametrize(
    ("dtype", "reference", "found"),
    [("uint8", [1, 255], [1, 0]), ("int64", [2**62, 1], [2**62, 2]), ("bool", [True, False], [True, True])],
)
def test_integers_and_booleans_are_exact(dtype: str, reference: list[int], found: list[int]) -> None:
    assert compare(reference, reference, dtype=dtype).passed
    result = compare(reference, found, Tolerance(rtol=1.0, atol=1000.0), dtype)
    assert not result.passed
    assert result.worst == (1,)


def test_strings_are_exact() -> None:
    assert gate.compare("case", "y", np.array(["a", "b"]), np.array(["a", "b"])).passed
    assert not gate.compare("case", "y", np.array(["a", "b"]), np.array(["a", "c"])).passed


def test_a_zero_reference_does_not_divide() -> None:
    result = compare([0.0, 2.0], [1e-6, 2.0])
    assert result.passed
    assert result.max_rel == 0.0


def test_complex_numbers_are_compared_in_both_parts() -> None:
    assert compare([1 + 2j], [1 + 2j], dtype="complex64").passed
    assert not compare([1 + 2j], [1 + 3j], dtype="complex64").passed


def test_measures() -> None:
    result = compare([[1.0, 2.0], [4.0, 3.0]], [[1.5, 2.0], [2.0, 3.0]], EXACT)
    assert result.max_abs == 2.0
    assert result.max_rel == 0.5
    assert result.mean_abs == 0.625
    assert result.argmax_agreement == 0.5
    assert result.worst == (1, 0)
    assert result.cosine == pytest.approx(np.dot([1, 2, 4, 3], [1.5, 2, 2, 3]) / np.sqrt(30 * 19.25))


@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=3, max_side=5), elements=st.floats(width=32)))
def test_everything_is_equal_to_itself(array: Any) -> None:
    assert gate.compare("case", "y", array, array.copy()).passed


def test_an_empty_output_is_equal_to_itself() -> None:
    assert compare(np.zeros((0, 3)), np.zeros((0, 3))).passed


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"),
    [("float64", 1e-6, 1e-8), ("float32", 1e-3, 1e-3), ("float16", 1e-2, 1e-2), ("int32", 0.0, 0.0)],
)
def test_default_tolerances_follow_dtype_and_size(dtype: str, rtol: float, atol: float) -> None:
    used = gate.tolerance_for(np.full((4,), 10, dtype))
    assert (used.rtol, used.atol) == pytest.approx((rtol, atol))
