"""Labels that differ because two classes are equally likely. Pure.

A classifier's label is the class with the largest score. Where two scores are equal but for rounding, either label is right,
and which one comes out hangs on the order of a sum. Such rows are told, not counted as faults; every other row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from trainyard.converter.core.gate import Array


def tied(
    output: str, case: str, references: Mapping[str, Mapping[str, Array]], found: Mapping[str, Array]
) -> tuple[int, ...] | None:
    """Rows of a label output that differ in a case, where each of them is a tie by the reference's own scores and what was
    found is the other class of that tie. None: `output` is no label of any output of scores, or some row is no tie.

    `references`: of every case, since which column stands for which label is read off all of them."""
    labels, others = references[case][output], found[output]
    if labels.ndim != 1 or labels.dtype.kind == "f" or labels.shape != others.shape:
        return None
    rows = np.flatnonzero(labels != others)
    for name, scores in references[case].items():
        if not _go_with(labels, scores) or found[name].shape != scores.shape:
            continue
        classes = _classes([(item[output], item[name]) for item in references.values()])
        if all(_is_tie(scores[row], found[name][row], {labels[row], others[row]}, classes) for row in rows):
            return tuple(int(row) for row in rows)
    return None


def _go_with(labels: Array, scores: Array) -> bool:
    return scores.ndim == 2 and scores.dtype.kind == "f" and len(scores) == len(labels) and scores.shape[1] > 1


def _is_tie(scores: Array, rounded: Array, labels: set[object], classes: Mapping[int, object]) -> bool:
    """Two scores tie where they are no further apart than rounding has moved the scores of that very row."""
    exact = scores.astype(np.float64)
    first, second = (int(column) for column in np.argsort(-exact, kind="stable")[:2])
    moved = float(np.abs(exact - rounded.astype(np.float64)).max())
    return exact[first] - exact[second] <= 2 * moved and labels == {classes.get(first), classes.get(second)}


def _classes(pairs: Iterable[tuple[Array, Array]]) -> dict[int, object]:
    """Column → label, from the rows whose largest score stands alone; two columns for one label, or two labels for one
    column, mean that these are not the scores of these labels."""
    known: dict[int, object] = {}
    for labels, scores in pairs:
        if not _go_with(labels, scores):
            return {}
        ordered = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")
        for row, (first, second) in enumerate(ordered[:, :2]):
            alone = scores[row, first] != scores[row, second]
            if alone and known.setdefault(int(first), labels[row]) != labels[row]:
                return {}
    return known if len(set(known.values())) == len(known) else {}
