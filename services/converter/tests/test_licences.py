"""What a report says of a model's licence: what its files say, and `unknown` where they say nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

from trainyard.converter.adapters import licences as files
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.conversion import Proven
from trainyard.converter.core import licences
from trainyard.converter.ports import ExportRequest
from trainyard.converter.preparation import Tools

CARD = "---\nlanguage: en\nlicense: {}\n---\n# A model\n"
BOMB = "---\na: &a [x, x]\nb: &b [*a, *a]\nlicense: [*b, *b]\n---\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("         Apache License\n     Version 2.0, January 2004\n", "Apache License, Version 2.0, January 2004"),
        ("MIT License\n\nCopyright (c) 2020 Somebody\n", "MIT License"),
        ("# SPDX-License-Identifier: BSD-3-Clause\nwhatever\n", "BSD-3-Clause"),
        ("", ""),
        ("\x1b[31mred\x07", "[31mred"),
        ("x" * 10_000, "x" * 200),
    ],
    ids=["title and version", "title alone", "SPDX line", "empty", "cannot be shown", "one long line"],
)  # fmt: skip
def test_a_text_is_named_by_its_title(text: str, said: str) -> None:
    assert licences.of_text(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CARD.format("apache-2.0"), "apache-2.0"),
        (CARD.format("[mit, cc-by-4.0]"), "mit, cc-by-4.0"),
        (CARD.format("other\nlicense_name: llama3"), "llama3"),
        (CARD.format("other"), "other"),
        (CARD.format("{nested: 1}"), ""),
        ("# A model\nlicense: mit\n", ""),
        ("---\n- a list\n---\n", ""),
        ("---\nlicense: [unclosed\n---\n", ""),
        (BOMB, ""),
    ],
)
def test_a_card_is_read_by_its_front_matter_only(text: str, said: str) -> None:
    assert licences.of_card(text) == said


def test_the_models_own_words_come_before_those_of_files_beside_it(tmp_path: Path) -> None:
    header = json.dumps({"__metadata__": {"License": "cc-by-nc-4.0"}}).encode()
    model = tmp_path / "net.safetensors"
    model.write_bytes(len(header).to_bytes(8, "little") + header)
    (tmp_path / "LICENSE.txt").write_text("MIT License\n")
    (tmp_path / "README.md").write_text(CARD.format("mit"))
    said = files.of_model(model, "safetensors")
    assert list(said.items()) == [
        ("net.safetensors", "cc-by-nc-4.0"), ("LICENSE.txt", "MIT License"), ("README.md", "mit"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "head", [b"", b"\xff" * 8, (4).to_bytes(8, "little") + b"[[[[", (2).to_bytes(8, "little") + b"[]"]
)
def test_a_broken_header_says_nothing(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "net.safetensors").write_bytes(head)
    assert files.of_model(tmp_path / "net.safetensors", "safetensors") == {}


def test_what_is_no_file_of_its_own_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").touch()
    os.mkfifo(tmp_path / "LICENSE")
    (tmp_path / "COPYING").symlink_to("/etc/hostname")
    (tmp_path / "license").mkdir()
    assert files.of_model(tmp_path / "net.onnx", "onnx") == {}


async def test_the_report_quotes_what_an_onnx_model_keeps_of_it(
    tools: Tools, convert_files: Callable[..., Awaitable[Proven]], tmp_path: Path
) -> None:
    async def own(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    text = '<ir_version: 8, opset_import: ["" : 17]> net (float[n, 4] x) => (float[n, 4] y) { y = Relu (x) }'
    model = parser.parse_model(text)
    onnx.helper.set_model_props(model, {"license": "<b>CC-BY-4.0</b>"})
    onnx.save(model, tmp_path / "net.onnx")
    used: Any = replace(tools, exporter=WorkerExporter(own))
    proven = await convert_files(used, tmp_path, weights="net.onnx", to=["onnx"])
    assert proven.report.licence.model == "<b>CC-BY-4.0</b>"
    assert proven.report.licence.tools["onnx"] == "Apache-2.0"
    page = (proven.folder / "report.html").read_text()
    assert "&lt;b&gt;CC-BY-4.0&lt;/b&gt; (as said by <code>net.onnx</code>)" in page
    assert f"onnx {proven.report.tools['onnx']} (Apache-2.0)" in page
