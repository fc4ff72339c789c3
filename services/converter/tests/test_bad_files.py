"""Files that are broken or mean harm, from their opening to the report: one clear sentence, and nothing done beyond it."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data

from trainyard.common import ids
from trainyard.common.clock import SystemClock
from trainyard.common.contract.conversions import ConversionSpec, ConvertSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import Proven, convert
from trainyard.converter.preparation import ConversionFault, Tools

pytestmark = pytest.mark.integration

WEIGHTS = np.arange(3, dtype=np.float32)


async def run(folder: Path, name: str, **changes: object) -> Proven:
    async def own(wanted: object) -> Path:
        del wanted
        return Path(sys.executable)

    exporter = WorkerExporter(own, Limits(seconds=30, memory=2 * 2**30))
    tools = Tools(exporter, TritonServingCheck(), SystemClock(), folder / "state", WorkerTargetWriter(own))
    block = ConvertSpec.model_validate({"name": "net", "weights": name, "to": ["onnx"], **changes})
    spec = ConversionSpec(workdir=str(folder), artifacts=str(folder), convert=block)
    return await convert(ConversionRequested(conversion_id=ids.new_conversion_id(), spec=spec), tools, _silent)


async def _silent(step: str, message: str, fraction: float) -> None:
    del step, message, fraction


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


def model_pipe(folder: Path) -> None:
    os.mkfifo(folder / "net.onnx")


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "weights above the folder": (lambda folder: beside(folder, "../secret"), "no place in the model's folder"),
    "weights at an absolute path": (lambda folder: beside(folder, "/etc/passwd"), "no place in the model's folder"),
    "weights behind a link": (linked, "which is a link"),
    "weights behind a hard link": (hard_linked, "no file of its own"),
    "weights behind a linked folder": (through_a_linked_folder, "which is a link"),
    "weights in a pipe": (pipe, "no file of its own"),
    "weights in a device": (lambda folder: beside(folder, "/dev/zero"), "no place in the model's folder"),
    "weights that are not there": (lambda folder: beside(folder, "gone.bin"), "where there is no file"),
    "weights beyond the end": (
        lambda folder: beside(folder, "honest.bin", offset=8, length=12),
        "beyond its end: it has 12 bytes",
    ),
    "weights before the beginning": (lambda folder: beside(folder, "honest.bin", offset=-4), "beyond its end"),
    "a pipe as the model": (model_pipe, "neither a file nor a folder"),
    "nothing there": (lambda folder: None, "there is no model at"),
    "an empty file": (lambda folder: (folder / "net.onnx").touch(), "cannot be read"),
    "no protobuf": (lambda folder: (folder / "net.onnx").write_bytes(b"\xff" * 4096), "cannot be read as ONNX"),
    "a folder of another kind": (lambda folder: (folder / "net.onnx").mkdir(), "in no format that is known"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_model_gets_one_clear_sentence(tmp_path: Path, kind: str) -> None:
    make, words = BAD[kind]
    make(tmp_path)
    with pytest.raises(ConversionFault, match=words) as caught:
        await run(tmp_path, "net.onnx")
    assert caught.value.reason == "model"
    assert "\n" not in str(caught.value)
    assert caught.value.report is not None
    assert (caught.value.report / "report.json").exists()
    assert not (caught.value.report / "model.onnx").exists()


async def test_a_pipe_whose_format_is_named_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "net.onnx")
    with pytest.raises(ConversionFault, match="neither a file nor a folder"):
        await run(tmp_path, "net.onnx", format="onnx")


async def test_honest_weights_beside_a_model_are_taken_along(tmp_path: Path) -> None:
    beside(tmp_path, "honest.bin")
    proven = await run(tmp_path, "net.onnx", to=["onnx", "triton"])
    assert proven.report.served is not None
    assert proven.report.served.passed
    (tmp_path / "honest.bin").unlink()
    (weights,) = onnx.load(proven.folder / "model.onnx").graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weights), WEIGHTS)


def claimed(file: Path) -> None:
    """An archive of 300 bytes that says of itself that it unpacks to 3 GiB."""
    np.savez_compressed(file, x=np.zeros((5, 3), np.float32))
    content = bytearray(file.read_bytes())
    central = content.index(b"PK\x01\x02")
    content[central + 24 : central + 28] = (3 * 2**30).to_bytes(4, "little")
    file.write_bytes(content)


def pickled(file: Path) -> None:
    np.savez(file, x=np.array([print, print], dtype=object))


def newer(file: Path) -> None:
    np.savez(file, x=np.zeros((5, 3), np.float32))
    content = bytearray(file.read_bytes())
    central = content.index(b"PK\x01\x02")
    content[central + 6 : central + 8] = (90).to_bytes(2, "little")
    file.write_bytes(content)


def no_array(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "x.npy",
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }",
        )


SAMPLES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickles": (pickled, "Object arrays cannot be loaded"),
    "more than fits": (claimed, "unpacks to 3.* the most is 2"),
    "of a newer zip": (newer, "cannot be read as .npz"),
    "an array larger than any": (no_array, "cannot be read as .npz"),
    "a pipe": (os.mkfifo, "neither a file nor a folder"),
    "nothing": (lambda file: file.touch(), "cannot be read as .npz"),
}


@pytest.mark.parametrize("kind", SAMPLES)
async def test_bad_samples_get_one_clear_sentence(tmp_path: Path, kind: str) -> None:
    make, words = SAMPLES[kind]
    beside(tmp_path, "honest.bin")
    make(tmp_path / "samples.npz")
    with pytest.raises(ConversionFault, match=words) as caught:
        await run(tmp_path, "net.onnx", samples="samples.npz")
    assert caught.value.reason == "model"
