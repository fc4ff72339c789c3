"""Samples, and the ranges of int8, out of a dataset of a data server in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from trainyard.common.errors import InvalidInput, Retryable
from trainyard.converter.adapters import datasets
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.conversion import Proven
from trainyard.converter.ports import ExportRequest
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.data.dataset import put
from trainyard.data.testing.process import Process

pytestmark = pytest.mark.integration

ROWS = 3000
NET = """<ir_version: 8, opset_import: ["" : 17]> net (float[n, 16] x) => (float[n, 4] y)
    <float[16, 4] w = {%s}> { y = MatMul (x, w) }""" % ", ".join("1" if at % 16 % 5 == 0 else "0" for at in range(64))  # noqa: UP031 - braces


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    process = Process(tmp_path / "store").start()
    monkeypatch.setenv("TRAINYARD_DATA", f"grpc://127.0.0.1:{process.port}")
    monkeypatch.setenv("TRAINYARD_TOKEN", "mine")
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, ROWS)
    x = random.uniform(0, 1, (ROWS, 16)).astype(np.float32)
    with process.client() as client:
        put("rows", {"x": x, "label": labels}, client)
        put("empty", {"x": x[:0]}, client)
        put("words", {"word": ["a", "b"]}, client)
        put("narrow", {"x": x[:, :3]}, client)
    yield process
    process.kill()


@pytest.fixture
def run(
    tools: Tools, convert_files: Callable[..., Awaitable[Proven]], tmp_path: Path
) -> Callable[..., Awaitable[Proven]]:
    async def own(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    async def one(samples: str) -> Proven:
        onnx.save(parser.parse_model(NET), tmp_path / "net.onnx")
        used: Any = replace(tools, exporter=WorkerExporter(own))
        block = {"weights": "net.onnx", "precision": "int8", "to": ["onnx"], "batch_sizes": [1, 2, 7]}
        return await convert_files(used, tmp_path, samples=samples, **block)

    return one


async def test_ranges_come_from_rows_of_a_dataset(run: Callable[..., Awaitable[Proven]], server: Process) -> None:
    assert server.alive
    report = (await run("data://rows")).report
    assert report.lowered is not None
    (words,) = [note for note in report.notes if note.startswith("samples:")]
    assert words.startswith("samples: 1024 of the 3000 rows of rows, version v")
    assert "samples, batch 7" in {item["case"] for item in report.comparisons}
    version = words.rpartition(" ")[2]
    first, _ = datasets.read(f"data://rows@{version}", frozenset({"x"}))
    again, _ = datasets.read("data://rows", frozenset({"x"}))
    assert first.keys() == again.keys() == {"x", "labels"}
    assert np.array_equal(first["x"], again["x"])


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ("data://none", "data://none cannot be read: there is no dataset none here"),
        ("data://rows@v1", "there is no dataset rows, version v1"),
        ("data://empty", "data://empty has no rows of numbers"),
        ("data://words", "data://words has no rows of numbers"),
        ("data://narrow", "have shape"),
    ],
)
async def test_what_is_no_sample_is_said(
    run: Callable[..., Awaitable[Proven]], server: Process, samples: str, words: str
) -> None:
    assert server.alive
    with pytest.raises((InvalidInput, ConversionFault), match=words):
        await run(samples)


def test_a_server_that_is_away_is_asked_again(server: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    server.kill()
    monkeypatch.setattr("trainyard.data.dataset.PATIENCE", 0.1)
    with pytest.raises(Retryable, match="data://rows cannot be read: the data server does not answer"):
        datasets.read("data://rows", frozenset())
