"""Weights beside an ONNX model: they are read from its folder only, and never through links."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data

pytestmark = pytest.mark.integration

WEIGHTS = np.arange(3, dtype=np.float32)


def beside(folder: Path, location: str, **place: int) -> None:
    """y = x + w, where w is to be read from `location`."""
    (folder / "honest.bin").write_bytes(WEIGHTS.tobytes())
    w = helper.make_tensor("w", TensorProto.FLOAT, [3], WEIGHTS.tobytes(), raw=True)
    set_external_data(w, location, **place)
    w.ClearField("raw_data")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "sum", [x], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "net.onnx").write_bytes(model.SerializeToString())


def linked(folder: Path) -> None:
    beside(folder, "link.bin")
    (folder / "link.bin").symlink_to(folder / "honest.bin")


def hard_linked(folder: Path) -> None:
    beside(folder, "hard.bin")
    os.link(folder / "honest.bin", folder / "hard.bin")


def through_a_linked_folder(folder: Path) -> None:
    beside(folder, "inner/passwd")
    (folder / "inner").symlink_to("/etc")


def pipe(folder: Path) -> None:
    beside(folder, "pipe.bin")
    os.mkfifo(folder / "pipe.bin")


def address(folder: Path) -> None:
    """A file whose name onnxruntime takes for an address; the offset is what it would read."""
    place = folder / "*" / "_ORT_MEM_ADDR_"
    place.mkdir(parents=True)
    (place / "*").write_bytes(bytes(100))
    beside(folder, "*/_ORT_MEM_ADDR_/*", offset=64, length=12)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "above the folder": (lambda folder: beside(folder, "../secret"), "no place in the model's folder"),
    "at an absolute path": (lambda folder: beside(folder, "/etc/passwd"), "no place in the model's folder"),
    "behind a backslash": (lambda folder: beside(folder, "..\\secret"), "no place in the model's folder"),
    "behind a NUL": (lambda folder: beside(folder, "honest.bin\0.."), "no place in the model's folder"),
    "at an address in memory": (address, "references an ORT in-memory address marker"),
    "behind a link": (linked, "which is a link"),
    "behind a hard link": (hard_linked, "no file of its own"),
    "behind a linked folder": (through_a_linked_folder, "which is a link"),
    "in a pipe": (pipe, "no file of its own"),
    "in a device": (lambda folder: beside(folder, "/dev/zero"), "no place in the model's folder"),
    "in a folder": (
        lambda folder: (beside(folder, "inner"), (folder / "inner").mkdir()),
        "no file of its own",
    ),
    "not there": (lambda folder: beside(folder, "gone.bin"), "where there is no file"),
    "beyond the end": (
        lambda folder: beside(folder, "honest.bin", offset=8, length=12),
        "beyond its end: it has 12 bytes",
    ),
    "before the beginning": (lambda folder: beside(folder, "honest.bin", offset=-4), "beyond its end"),
    "longer than any": (lambda folder: beside(folder, "honest.bin", length=2**62), "beyond its end"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_bad_weights_beside_a_model_are_refused(given: Path, refusal: Any, kind: str) -> None:
    make, words = BAD[kind]
    make(given)
    assert words in await refusal("net.onnx")


async def test_honest_weights_beside_a_model_are_taken_along(given: Path, convert_file: Any) -> None:
    beside(given, "honest.bin")
    proven = await convert_file("net.onnx", to=["onnx", "triton"])
    assert proven.report.served is not None
    assert proven.report.served.passed
    (given / "honest.bin").unlink()
    (weights,) = onnx.load(proven.folder / "model.onnx").graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weights), WEIGHTS)
