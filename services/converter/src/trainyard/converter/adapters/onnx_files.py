"""An ONNX model carried from folder to folder: its graph, and the weights beside it where one file does not hold them.

What a worker wrote is not believed: its weights lie in the one file that has the model's name, and nowhere else.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import onnx

from trainyard.converter.adapters import answers
from trainyard.converter.ports import ExportFault
from trainyard.converter.workers.onnx_file import DATA, outside


def beside(model: Path) -> Path:
    """Where its weights lie if they do not lie in it."""
    return model.with_name(model.name + DATA)


def parts(model: Path) -> list[Path]:
    """The model's file, and that of its weights where there is one."""
    return [item for item in (model, beside(model)) if item.exists()]


def size(model: Path) -> int:
    """Bytes of all its files."""
    return sum(item.stat().st_size for item in parts(model))


def own(model: Path) -> None:
    """Raises ModelFault or ExportFault where one of its files is no file of its own; see `answers.own`."""
    answers.own(model)
    if beside(model).is_symlink() or beside(model).exists():
        answers.own(beside(model))


def copy(model: Path, target: Path) -> None:
    """With its weights, which are called like the model there too."""
    if not beside(model).exists():
        shutil.copy2(model, target)
        return
    graph = onnx.load(model, load_external_data=False)
    for entry in _places(graph):
        entry.value = beside(target).name
    shutil.copy2(beside(model), beside(target))
    onnx.save(graph, target)


def confined(model: Path, graph: onnx.ModelProto) -> None:
    """Raises ExportFault where weights are to be read from another file than the one beside the model."""
    strange = sorted({entry.value for entry in _places(graph)} - {beside(model).name})
    if strange:
        raise ExportFault(f"the exporter wrote weights to {strange[0][:200]!r}, where nobody would take them along")


def _places(graph: onnx.ModelProto) -> Iterator[onnx.StringStringEntryProto]:
    return (entry for item in outside(graph) for entry in item.external_data if entry.key == "location")
