"""Places of sparse and ragged tensors: those in order stay, others are put in order, impossible ones are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trainyard.tensors import TensorError
from trainyard.tensors.composites import COO, CSR, RAGGED, Composite
from trainyard.tensors.placing import in_order


def ordered(kind: str, shape: tuple[int, ...], padded: bool = False, **parts: Any) -> dict[str, Any] | None:
    found = in_order(Composite(kind, {}, shape, padded), {name: np.array(each) for name, each in parts.items()})
    return None if found is None else {name: each.tolist() for name, each in found.items()}


@pytest.mark.parametrize(
    ("places", "values"),
    [
        ([[0, 1], [0, 2], [1, 0]], [1.0, 2, 3]),
        ([[1, 2]], [1.0]),
        (np.zeros((0, 2), np.int64), []),
    ],
)
def test_what_is_in_order_is_left_alone(places: Any, values: list[float]) -> None:
    assert ordered(COO, (2, 3), indices=places, values=values) is None


def test_places_out_of_order_are_sorted_and_values_of_one_place_added() -> None:
    found = ordered(COO, (2, 3), indices=[[1, 1], [0, 1], [0, 1]], values=[1.0, 2, 3])
    assert found == {"indices": [[0, 1], [1, 1]], "values": [5.0, 1.0]}
    found = ordered(COO, (2,), indices=[[1], [1]], values=[True, True])
    assert found == {"indices": [[1]], "values": [True]}


def test_values_that_are_tensors_are_added_as_a_whole() -> None:
    found = ordered(COO, (2, 2), indices=[[1], [1]], values=[[1, 2], [3, 4]])
    assert found == {"indices": [[1]], "values": [[4, 6]]}


def test_padding_is_left_out_where_a_framework_pads() -> None:
    found = ordered(COO, (2, 2), padded=True, indices=[[0, 1], [2, 2], [2, 2]], values=[1, 0, 0])
    assert found == {"indices": [[0, 1]], "values": [1]}
    assert ordered(COO, (2, 2), padded=True, indices=[[2, 2]], values=[0]) == {"indices": [], "values": []}


def test_rows_of_csr_are_put_in_order() -> None:
    assert ordered(CSR, (2, 3), starts=[0, 2, 3], columns=[1, 2, 0], values=[1, 2, 3]) is None
    found = ordered(CSR, (2, 3), starts=[0, 3, 4], columns=[2, 1, 2, 0], values=[1, 2, 3, 4])
    assert found == {"starts": [0, 2, 3], "columns": [1, 2, 0], "values": [2, 4, 4]}
    found = ordered(CSR, (1, 2), starts=[0, 1], columns=[1, 7], values=[5, 0])
    assert found == {"starts": [0, 1], "columns": [1], "values": [5]}, "room that is not used"


@pytest.mark.parametrize(
    ("kind", "shape", "parts", "words"),
    [
        (COO, (2, 2), {"indices": [[0, 5]], "values": [1]}, r"1 of its places lie outside of its shape \[2, 2\]"),
        (COO, (2, 2), {"indices": [[0, -1]], "values": [1]}, "lie outside"),
        (COO, (2, 2), {"indices": [[0, 1]], "values": [1, 2]}, "do not fit"),
        (CSR, (2, 2), {"starts": [0, 1, 1], "columns": [7], "values": [1]}, "columns lie outside of its shape"),
        (CSR, (2, 2), {"starts": [0, 5, 9], "columns": [0], "values": [1]}, "row starts do not go from 0 to its 1"),
        (CSR, (2, 2), {"starts": [0, 1], "columns": [0], "values": [1]}, "do not fit its shape"),
        (CSR, (1, 2, 2), {"starts": [[0, 1]], "columns": [[0]], "values": [[1]]}, "CSR of 3 dimensions, two can"),
        (RAGGED, (), {"starts": [0, 9], "values": [1, 2]}, "row starts do not go from 0 to its 2 values"),
        (RAGGED, (), {"starts": [0, 2, 1, 2], "values": [1, 2]}, "row starts do not go"),
        (RAGGED, (), {"starts": [0, 1], "values": [1, 2]}, "row starts do not go"),
    ],
)
def test_places_that_are_impossible_are_refused(
    kind: str, shape: tuple[int, ...], parts: dict[str, Any], words: str
) -> None:
    with pytest.raises(TensorError, match=words):
        ordered(kind, shape, **parts)
