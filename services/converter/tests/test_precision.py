"""The bounds of a lower precision, and which nodes are given back, as tables without a model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trainyard.common.contract.conversions import Precision
from trainyard.converter.core import divergence, precision
from trainyard.converter.core.divergence import Difference

ONE_HOT = np.eye(4, dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "found", "fault"),
    [
        ("float16", ONE_HOT * 1.009, ""),
        ("float16", ONE_HOT * 1.02, "differ by more than allowed"),
        ("int8", ONE_HOT + 0.05, ""),
        ("int8", ONE_HOT[::-1].copy(), "cosine"),
        ("int8", ONE_HOT * 0, "zeros instead of numbers"),
        ("int8", ONE_HOT + ONE_HOT[:, ::-1] * np.float32([[1.001], [0.05], [0.05], [0.05]]), "the same class in 75.0%"),
        ("int8", np.where(ONE_HOT > 0, np.nan, 0).astype(np.float32), "NaN at 4 places"),
        ("int8", ONE_HOT.astype(np.float64), "dtype float64"),
    ],
)
def test_bounds(kind: Precision, found: np.ndarray, fault: str) -> None:
    compared = precision.compare(kind, "samples, batch 4", "y", ONE_HOT, found)
    assert compared.passed == (not fault)
    assert fault in compared.fault


def test_classes_may_differ_in_one_of_a_hundred() -> None:
    labels = np.arange(200)
    other = np.where(labels < 2, -1, labels)
    assert precision.compare("int8", "samples, batch 200", "label", labels, other).passed
    assert not precision.compare("int8", "samples, batch 200", "label", labels, np.where(labels < 3, -1, labels)).passed


def test_ranges_are_taken_from_other_rows_than_the_proof() -> None:
    samples = {"x": np.arange(100), "scale": np.array(2.0)}
    rows = precision.calibration(samples, frozenset({"x"}), 32)
    assert [list(item["x"][[0, -1]]) for item in rows.values()] == [[32, 63], [64, 95], [96, 99]]
    assert all(item["scale"] == 2.0 for item in rows.values())
    assert sum(len(item["x"]) for item in precision.calibration(samples, frozenset({"x"}), 100).values()) == 100


CHAIN = [
    Difference("a", "MatMul", ("x",), 0.001, largest=10, size=8),
    Difference("b", "Exp", ("a",), 0.2, largest=40_000, size=8),
    Difference("c", "ReduceMean", ("a",), 0.001, largest=10, size=1),
    Difference("d", "Mul", ("b", "c"), 0.25, largest=1, size=8),
    Difference("e", "Log", ("d",), math.inf, largest=1, size=8),
    Difference("f", "Neg", ("e",), math.inf, largest=1, size=8),
]


def test_the_node_that_begins_a_difference_and_those_that_add_most() -> None:
    begins = divergence.first(CHAIN)
    assert begins is not None
    assert begins.tensor == "b"
    assert divergence.worst(CHAIN, 2, ()) == ("e", "b")
    assert divergence.worst(CHAIN, 2, ("e", "b")) == ("d", "a")
    assert divergence.first(CHAIN[:1]) is None


def test_what_leaves_the_range_of_half_precision() -> None:
    assert precision.too_large(CHAIN) == ("b",)
    wide = [
        Difference("a", "Relu", ("x",), 0, largest=10, size=10_000),
        Difference("m", "ReduceMean", ("a",), 0, 10, 1),
    ]
    assert precision.too_large(wide) == ("m",)
