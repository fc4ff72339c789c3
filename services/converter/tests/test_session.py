"""One process for the first look at a model and its first export, with the real worker on an ONNX file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from onnx import parser

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.testing.eventually import eventually
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.core import cases, formats
from trainyard.converter.core.ladder import Rung
from trainyard.converter.ports import Exporter, ExportRequest, ModelFault

pytestmark = pytest.mark.integration

INPUTS = [TensorSpec(name="x", shape=("batch", 3))]


class Started:
    """A session, and how many processes it has asked an interpreter for."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.count = 0
        self.session: AbstractAsyncContextManager[Exporter] = WorkerExporter(self._python, limits).session()

    async def _python(self, request: ExportRequest) -> Path:
        del request
        self.count += 1
        return Path(sys.executable)


@pytest.fixture
def asked(tmp_path: Path, torch_request: Callable[..., ExportRequest]) -> Callable[..., ExportRequest]:
    """A request for a folder of its own."""
    onnx = tmp_path / "net.onnx"
    text = '<ir_version: 8, opset_import: ["" : 17]> net (float[batch, 3] x) => (float[batch, 3] y) { y = Neg (x) }'
    onnx.write_bytes(parser.parse_model(text).SerializeToString())

    def make(name: str, rung: Rung | None) -> ExportRequest:
        (tmp_path / name).mkdir()
        given = cases.build(INPUTS, (1, 2, 3), None) if rung else {}
        request = torch_request(tmp_path, "", INPUTS, format="onnx", source=formats.SOURCES["onnx"], weights=onnx)
        return replace(request, folder=tmp_path / name, rung=rung, cases=given)

    return make


RUNG = Rung("copy", 17)


async def test_a_look_and_the_first_export_are_one_process(asked: Callable[..., ExportRequest]) -> None:
    started = Started()
    async with started.session as exporter:
        assert (await exporter.inspect(asked("look", None))).inputs[0].shape == (-1, 3)
        exported = await exporter.export(asked("first", RUNG))
        np.testing.assert_array_equal(exported.references["ones, batch 2"]["y"], np.full((2, 3), -1, np.float32))
        assert started.count == 1
        assert (await exporter.export(asked("second", RUNG))).onnx.parent.name == "second"
        assert started.count == 2


async def test_who_waits_in_vain_ends_with_the_session(asked: Callable[..., ExportRequest]) -> None:
    async with Started().session as exporter:
        await exporter.inspect(asked("look", None))
        waiting = workers()
        assert waiting
    await eventually(lambda: not [process for process in waiting if process.is_running()])


async def test_who_died_while_it_waited_is_replaced(asked: Callable[..., ExportRequest]) -> None:
    started = Started()
    async with started.session as exporter:
        await exporter.inspect(asked("look", None))
        for process in workers():
            process.kill()
        await eventually(lambda: not workers())
        assert (await exporter.export(asked("first", RUNG))).output_names == ("y",)


async def test_a_look_that_takes_too_long_is_ended(asked: Callable[..., ExportRequest]) -> None:
    async with Started(Limits(seconds=0.01)).session as exporter:
        with pytest.raises(ModelFault, match="it took longer than"):
            await exporter.inspect(asked("look", None))


def workers() -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if "converter.workers" in command(process)]


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""
