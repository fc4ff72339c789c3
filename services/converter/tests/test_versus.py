"""A/B in numbers: what counts as equal, and which latency a percentile is."""

from __future__ import annotations

import numpy as np
import pytest

from trainyard.converter.core import versus

Y = np.array([[1.0, 2.0, 3.0]], np.float32)


def test_equal_answers_are_equal_within_the_tolerance_of_their_type() -> None:
    (found,) = versus.differences([({"y": Y}, {"y": Y + np.float32(1e-5)})] * 3)
    assert (found.output, found.equal, found.requests, found.fault) == ("y", 3, 3, "")
    assert found.max_abs == pytest.approx(1e-5, rel=0.1)
    assert found.argmax_agreement == 1.0


def test_the_first_disagreement_is_told_and_all_are_counted() -> None:
    pairs = [({"y": Y}, {"y": Y}), ({"y": Y}, {"y": Y[:, ::-1]}), ({"y": Y}, {"y": Y + 2})]
    (found,) = versus.differences(pairs)
    assert (found.equal, found.requests, found.max_abs) == (1, 3, 2.0)
    assert found.fault.startswith("request 1: ")
    assert found.argmax_agreement == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"y": Y, "z": Y}, "one version alone answers with 'z'"),
        ({"z": Y}, "one version alone answers with 'y'"),
        ({"y": Y[0]}, r"shape [3] instead of [1, 3]"),
        ({"y": Y.astype(np.float64)}, "dtype float64 instead of float32"),
    ],
)
def test_versions_that_answer_in_other_ways(second: dict[str, np.ndarray], words: str) -> None:
    found = versus.differences([({"y": Y}, second)])
    assert words in "; ".join(item.fault for item in found)


def test_a_percentile_is_a_latency_that_was_measured() -> None:
    found = versus.latency([0.001] * 98 + [0.5, 9.0])
    assert (found.p50, found.p99, found.requests) == (0.001, 0.5, 100)
    assert versus.latency([0.25]) == versus.Latency(0.25, 0.25, 1)
