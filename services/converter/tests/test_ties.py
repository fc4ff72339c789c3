"""When a label that differs is right all the same, and when not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trainyard.converter.core import ties


def tied(output: str, reference: dict[str, Any], found: dict[str, Any]) -> tuple[int, ...] | None:
    return ties.tied(output, "random", {"random": reference}, found)


CLEAR = [[0.9, 0.1], [0.1, 0.9]]


def outputs(rows: list[list[float]], labels: list[Any]) -> dict[str, Any]:
    return {"label": np.array(labels), "scores": np.array(rows, np.float32)}


def test_either_class_of_a_tie_is_right() -> None:
    reference = outputs([*CLEAR, [0.5, 0.5]], [0, 1, 0])
    assert tied("label", reference, outputs([*CLEAR, [0.49999994, 0.50000006]], [0, 1, 1])) == (2,)
    assert tied("label", reference, outputs([*CLEAR, [0.5, 0.5]], [0, 1, 1])) == (2,)


def test_which_column_is_which_class_is_read_off_every_case() -> None:
    references = {"random": outputs(CLEAR, [0, 1]), "zeros": outputs([[0.5, 0.5]], [0])}
    assert ties.tied("label", "zeros", references, outputs([[0.5, 0.5]], [1])) == (0,)
    assert ties.tied("label", "zeros", {"zeros": references["zeros"]}, outputs([[0.5, 0.5]], [1])) is None


def test_labels_may_be_words() -> None:
    reference = outputs([*CLEAR, [0.5, 0.5]], ["cat", "dog", "cat"])
    assert tied("label", reference, outputs([*CLEAR, [0.5, 0.5]], ["cat", "dog", "dog"])) == (2,)


@pytest.mark.parametrize(
    ("scores", "rounded", "label"),
    [
        ([0.6, 0.4], [0.6, 0.4], 1),  # no tie
        ([0.51, 0.49], [0.5099, 0.4901], 1),  # further apart than rounding
        ([0.5, 0.5], [0.5, 0.5], 7),  # no class of this tie
    ],
)
def test_everything_else_is_a_fault(scores: list[float], rounded: list[float], label: int) -> None:
    reference = outputs([*CLEAR, scores], [0, 1, 0])
    assert tied("label", reference, outputs([*CLEAR, rounded], [0, 1, label])) is None


def test_scores_that_do_not_go_with_the_labels_excuse_nothing() -> None:
    reference = outputs([*CLEAR, [0.9, 0.1], [0.5, 0.5]], [0, 1, 1, 0])
    assert tied("label", reference, outputs([*CLEAR, [0.9, 0.1], [0.5, 0.5]], [0, 1, 1, 1])) is None
    assert tied("label", {"label": np.array([0])}, {"label": np.array([1])}) is None


def test_numbers_are_no_labels() -> None:
    reference = {"label": np.array([0.5], np.float32), "scores": np.array([[0.5, 0.5]], np.float32)}
    assert tied("label", reference, {**reference, "label": np.array([0.7], np.float32)}) is None
