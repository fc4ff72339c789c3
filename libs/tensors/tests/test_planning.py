"""What is shared, what is copied and why, what cannot cross: from facts alone."""

from __future__ import annotations

import re

import pytest

from trainyard.tensors.dtypes import SIZES, name_of
from trainyard.tensors.errors import CannotShare, TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits, plan

SOURCE = Facts("numpy", "float32", (4, 6), (6, 1), 4096)
FREE = Traits("torch", frozenset(SIZES))
STRICT = Traits("tensorflow", frozenset({"float32", "int64"}), strided=False, aligned=True, writable=False)


def _reasons(source: Facts, takes: Traits, **asked: object) -> tuple[str, ...]:
    said = {"copy": None, "dtype": source.dtype, "device": None, **asked}
    return plan(source, takes, said["copy"], str(said["dtype"]), said["device"]).copies  # type: ignore[arg-type]


def test_aligned_rows_without_gaps_are_shared_with_all() -> None:
    assert not _reasons(SOURCE, FREE)
    assert not _reasons(SOURCE, STRICT)


@pytest.mark.parametrize(
    ("source", "takes", "words"),
    [
        (
            SOURCE._replace(pointer=4112),
            STRICT,
            "tensorflow needs memory at a multiple of 64 bytes, this is 16 past one",
        ),
        (SOURCE._replace(strides=(1, 4)), STRICT, r"tensorflow takes rows without gaps, and its strides are \[1, 4\]"),
        (SOURCE._replace(strides=(-6, 1)), FREE, "torch has no negative strides"),
        (SOURCE._replace(read_only=True), FREE, r"its memory is read-only and torch could write to it \(copy=False"),
        (SOURCE._replace(pending="torch has yet to conjugate it"), STRICT, "torch has yet to conjugate it"),
        (SOURCE._replace(device="cuda:0"), STRICT, "it lies on cuda:0, tensorflow is on cpu"),
        (SOURCE._replace(dtype="bool", packed=True), FREE, "Arrow packs eight truth values into a byte"),
    ],
)
def test_what_forces_a_copy_is_said(source: Facts, takes: Traits, words: str) -> None:
    (reason,) = _reasons(source, takes)
    assert re.search(words, reason)
    if not source.read_only:
        with pytest.raises(CannotShare, match=words):
            _reasons(source, takes, copy=False)


def test_an_order_of_dimensions_without_gaps_is_enough_for_some() -> None:
    takes = Traits("jax", frozenset({"float32"}), strided=False, permuted=True, writable=False)
    assert not _reasons(SOURCE._replace(strides=(1, 4)), takes)
    assert _reasons(SOURCE._replace(strides=(12, 1)), takes)
    assert _reasons(SOURCE._replace(strides=(0, 1)), takes), "a broadcast row is no row of its own"


def test_one_row_and_no_rows_have_no_gaps() -> None:
    assert not _reasons(SOURCE._replace(shape=(1, 6), strides=(99, 1)), STRICT)
    assert not _reasons(SOURCE._replace(shape=(0, 6), strides=(1, 9), pointer=8), STRICT)
    assert not _reasons(SOURCE._replace(shape=(), strides=()), STRICT)


def test_read_only_memory_is_shared_with_who_never_writes_and_with_who_insists() -> None:
    frozen = SOURCE._replace(read_only=True)
    assert not _reasons(frozen, STRICT)
    made = plan(frozen, FREE, False, "float32", None)
    assert not made.copies
    assert made.notes == ("its memory is read-only: to write to it ends the process",)


def test_who_shares_is_told_whose_writes_are_seen_where() -> None:
    (note,) = plan(SOURCE._replace(framework="jax", immutable=True), FREE, None, "float32", None).notes
    assert note == "what is written to it changes the tensor of jax, which never expects that"
    (note,) = plan(SOURCE, STRICT, None, "float32", None).notes
    assert note == "what is written to the tensor of numpy changes it, which tensorflow never expects"


@pytest.mark.parametrize(
    ("takes", "asked", "words"),
    [
        (STRICT, {"dtype": "float16"}, "float16 is nothing that tensorflow takes here: ask for dtype='float32'"),
        (STRICT, {"dtype": "uint16"}, "ask for another dtype"),
        (Traits("jax", frozenset(SIZES), narrow=True), {"dtype": "int64"}, "JAX would silently make int32 of int64"),
        (FREE, {"device": "tpu:0"}, "torch has no device 'tpu:0': cpu"),
    ],
)
def test_what_cannot_cross_is_refused(takes: Traits, asked: dict[str, object], words: str) -> None:
    with pytest.raises(TensorError, match=words):
        _reasons(SOURCE, takes, **asked)


@pytest.mark.parametrize(
    ("said", "name"),
    [("float32", "float32"), (float, "float64"), ("torch.bfloat16", "bfloat16"), ("half", "float16")],
)
def test_names_of_element_types(said: object, name: str) -> None:
    assert name_of(said) == name
    with pytest.raises(TensorError, match="object is no element type that can cross"):
        name_of("object")
