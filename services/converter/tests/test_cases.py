"""Which inputs a model is proven on, and whether its rows may be merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.errors import InvalidInput
from trainyard.converter.core import batching, cases
from trainyard.converter.core.cases import Array

IMAGE = TensorSpec(name="image", shape=("batch", 1, 8, 8))


def test_every_size_and_the_edges_are_tried() -> None:
    samples = {"image": np.linspace(0, 1, 5 * 64, dtype=np.float32).reshape(5, 1, 8, 8)}
    built = cases.build([IMAGE], (1, 2, 7), samples)
    assert sorted(built) == [
        "large, batch 2", "ones, batch 2",
        "random, batch 1", "random, batch 2", "random, batch 7",
        "samples, batch 1", "samples, batch 2", "samples, batch 7",
        "zeros, batch 2",
    ]  # fmt: skip
    assert built["samples, batch 7"]["image"].shape == (7, 1, 8, 8)
    assert np.array_equal(built["samples, batch 7"]["image"][5:], samples["image"][:2])  # over again
    assert built["random, batch 7"]["image"].max() <= 1.0  # in the samples' range
    assert np.array_equal(built["random, batch 7"]["image"][:2], built["random, batch 2"]["image"])
    assert 1000 < np.abs(built["large, batch 2"]["image"]).max() < 10_000


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_has_no_part_in_the_range(odd: float) -> None:
    samples = np.linspace(0, 1, 2 * 64, dtype=np.float32).reshape(2, 1, 8, 8)
    samples[0, 0, 3, 3] = odd
    built = cases.build([IMAGE], (1, 2), {"image": samples})
    assert np.array_equal(built["samples, batch 2"]["image"], samples, equal_nan=True)
    generated = built["random, batch 2"]["image"]
    assert (generated.min() >= 0, generated.max() <= 1) == (True, True)


def test_the_widest_range_and_none_at_all() -> None:
    x = TensorSpec(name="x", dtype="float64", shape=("batch",))
    widest = np.array([-1.7e308, 1.7e308])
    assert np.isfinite(cases.build([x], (1, 2), {"x": widest})["random, batch 2"]["x"]).all()
    nothing = cases.build([x], (1, 2), {"x": np.array([np.nan, np.nan])})
    assert np.isfinite(nothing["random, batch 2"]["x"]).all()


def test_integers_of_an_edge_are_those_that_the_samples_know() -> None:
    """silero-vad takes a sampling rate: none of its branches is for a rate of 0."""
    rate, ids = (
        TensorSpec(name="rate", dtype="int64", shape=()),
        TensorSpec(name="ids", dtype="int32", shape=("batch", 4)),
    )
    samples = {"rate": np.array(16000), "ids": np.array([[2, 9, 5, 7]] * 2)}
    built = cases.build([rate, ids], (1, 2), samples)
    assert {int(case["rate"]) for case in built.values()} == {16000}
    assert {bool(case["ids"].min() >= 2) and bool(case["ids"].max() <= 9) for case in built.values()} == {True}
    assert cases.build([ids], (1, 2), None)["zeros, batch 2"]["ids"].max() == 0


def test_one_size_is_never_proof_of_a_free_batch() -> None:
    assert cases.sizes([IMAGE], (1,)) == (1, 2, 3)
    assert cases.sizes([IMAGE], (8, 8)) == (8, 2, 3)
    assert cases.sizes([IMAGE], (1, 2, 7, 32)) == (1, 2, 7, 32)
    assert cases.sizes([TensorSpec(name="x", shape=(3,))], (1, 2, 7)) == (1,)


def test_an_input_without_a_batch_keeps_its_shape() -> None:
    scale = TensorSpec(name="scale", shape=(3,))
    built = cases.build([IMAGE, scale], (1, 7, 2), {"image": np.zeros((9, 1, 8, 8)), "scale": np.ones(3)})
    assert {case["scale"].shape for case in built.values()} == {(3,)}


def test_a_batch_may_stand_elsewhere() -> None:
    sequence = TensorSpec(name="x", shape=(-1, "batch", 4))
    built = cases.build([sequence], (1, 2, 7), {"x": np.zeros((11, 2, 4), np.float32)})
    assert built["samples, batch 7"]["x"].shape == (11, 7, 4)
    assert built["random, batch 7"]["x"].shape == (11, 7, 4)
    assert built["zeros, batch 2"]["x"].shape == (cases.OTHER_FREE, 2, 4)


def test_indices_stay_in_the_range_of_the_samples() -> None:
    ids = TensorSpec(name="ids", dtype="int64", shape=("batch", -1))
    built = cases.build([ids], (1, 2, 4), {"ids": np.array([[3, 9, 4]])})
    assert {(int(case["ids"].min()) >= 0, int(case["ids"].max()) <= 9) for case in built.values()} == {(True, True)}


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ({"picture": np.zeros((3, 1, 8, 8))}, "the samples hold picture, but not 'image'"),
        ({"image": np.zeros((3, 64))}, "have shape [3, 64], declared is ['batch', 1, 8, 8]"),
        ({"image": np.zeros((0, 1, 8, 8))}, "have shape [0, 1, 8, 8]"),
        ({"image": np.float32(1)}, "have shape []"),
        ({"image": np.zeros((3, 1, 8, 8), complex)}, "are complex128, declared is float32"),
    ],
)
def test_samples_that_do_not_fit_are_told(samples: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=r"convert\.samples") as caught:
        cases.build([IMAGE], (1, 2), {name: np.asarray(array) for name, array in samples.items()})
    assert words in str(caught.value)


def test_fractions_are_no_indices() -> None:
    ids = TensorSpec(name="ids", dtype="int64", shape=("batch",))
    with pytest.raises(InvalidInput, match="are float64, declared is int64"):
        cases.build([ids], (1,), {"ids": np.array([0.5])})


def answers(inputs: list[TensorSpec], function: Any) -> dict[str, dict[str, Array]]:
    return {name: {"y": function(case["image"])} for name, case in cases.build(inputs, (1, 2, 7), None).items()}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.sum((1, 2, 3)), ""),
        (lambda x: x.sum(), "output 'y' has shape [] for a batch of 1"),
        (lambda x: x[x > 0], "output 'y' has shape"),
        (lambda x: x - x.mean(0), "the rows of a batch change each other in output 'y'"),
        (lambda x: np.repeat(x, 2, 0), "output 'y' has shape [2, 1, 8, 8] for a batch of 1"),
    ],
)
def test_what_keeps_requests_from_being_merged(function: Any, words: str) -> None:
    found = batching.obstacle([IMAGE], answers([IMAGE], function), (1, 2, 7))
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_an_input_without_a_batch_cannot_be_merged() -> None:
    assert batching.obstacle([TensorSpec(name="scale", shape=(3,))], {}, (1,)) == "input 'scale' has no batch"
