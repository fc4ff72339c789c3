"""Names in a model that would do something to those who read of them: in a terminal, on a page, as a path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

pytestmark = pytest.mark.integration

HIDDEN = {
    "an order to the terminal": "y\x1b[2J",
    "two lines": "a\nb",
    "a NUL": "a\0b",
    "a return": "proven\rfailed",
    "letters from right to left": "y\u202egnp.exe",
}
STRANGE = {"a path": "../../y", "a script": "<script>alert(1)</script>", "quotes": "\"y'} {"}


def net(file: Path, name: str) -> None:
    """Its node and its output bear the name."""
    x, y = (helper.make_tensor_value_info(item, TensorProto.FLOAT, ["batch", 3]) for item in ("x", name))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], [name], name=name)], "relu", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file.write_bytes(made.SerializeToString())


@pytest.mark.parametrize("kind", HIDDEN)
async def test_a_bad_name_is_refused(given: Path, refusal: Any, kind: str) -> None:
    net(given / "net.onnx", HIDDEN[kind])
    assert "the model has a name that cannot be shown" in await refusal("net.onnx")


@pytest.mark.parametrize("kind", STRANGE)
async def test_a_strange_name_is_only_a_name(given: Path, convert_file: Any, kind: str) -> None:
    net(given / "net.onnx", STRANGE[kind])
    proven = await convert_file("net.onnx", to=["onnx", "triton"])
    assert [item["name"] for item in proven.report.outputs] == [STRANGE[kind]]
    assert "<script>alert" not in (proven.folder / "report.html").read_text()
    model = onnx.load(proven.folder / "model.onnx")
    assert [item.name for item in model.graph.output] == [STRANGE[kind]]
