"""Tensors in files, mapped when they are read: `.npy`, `.arrow`, `.safetensors`.

    save("batch.arrow", {"pixels": pixels, "label": label})       # tensors of any framework
    load("batch.arrow", to="torch", copy=False)                   # over the file's own pages

`.npy` holds one tensor; `.arrow` columns with equally many rows, for every reader of Arrow; `.safetensors` any names and
shapes, and bfloat16. The first two lie at a multiple of 64 bytes, so every framework takes them as they lie.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from trainyard.tensors.aligning import AlignedWriter
from trainyard.tensors.converting import Framework, convert_framework_tensor
from trainyard.tensors.errors import TensorError

Tensors = Mapping[str, Any]
_ROWS = 512
"""Of a batch, a multiple: see AlignedWriter. One batch holds all rows but the last few."""


def save(path: str | Path, tensors: Tensors) -> None:
    """Whole or not at all. Raises TensorError for what the format has no form for."""
    file = Path(path)
    write = _format(file)[0]
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}{file.suffix}")
    try:
        write(new, tensors)
        new.replace(file)
    finally:
        if os.path.lexists(new):
            new.unlink()


def load(path: str | Path, to: Framework = "numpy", copy: bool | None = None) -> dict[str, Any]:
    """The names of `.npy` are that of the file. Memory of a map is read-only, so PyTorch and Paddle get copies unless
    `copy=False` shares it with them. Raises TensorError."""
    file = Path(path)
    read = _format(file)[1]
    try:
        found = read(file)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise TensorError(f"{file} cannot be read: {(str(error).splitlines() or [''])[0]}") from error
    return dict(convert_framework_tensor(found, to, copy=copy)) if found else {}


def _format(file: Path) -> tuple[Callable[[Path, Tensors], None], Callable[[Path], Tensors]]:
    if file.suffix not in FORMATS:
        raise TensorError(f"{file.name} ends in nothing that tensors are kept in: {', '.join(FORMATS)}")
    return FORMATS[file.suffix]


def _write_npy(file: Path, tensors: Tensors) -> None:
    if len(tensors) != 1:
        raise TensorError(f".npy holds one tensor, these are {len(tensors)}: .safetensors holds them all")
    array = convert_framework_tensor(next(iter(tensors.values())), "numpy")
    if array.dtype.kind == "V":
        raise TensorError(f".npy has no {array.dtype}: .safetensors has")
    np.save(file, array, allow_pickle=False)


def _read_npy(file: Path) -> Tensors:
    return {file.stem: np.load(file, mmap_mode="r", allow_pickle=False)}


def _write_arrow(file: Path, tensors: Tensors) -> None:
    columns = {name: convert_framework_tensor(tensor, "arrow") for name, tensor in tensors.items()}
    if len({len(column) for column in columns.values()}) > 1:
        said = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise TensorError(f"columns of .arrow have equally many rows, these have {said}: .safetensors takes them")
    batch = pa.record_batch(columns)
    whole = batch.num_rows - batch.num_rows % _ROWS
    with AlignedWriter(str(file), batch.schema) as writer:
        for piece in (batch.slice(0, whole), batch.slice(whole)):
            if piece.num_rows:
                writer.write_batch(piece)


def _read_arrow(file: Path) -> Tensors:
    table = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
    return {name: table[name] for name in table.schema.names}


def _write_safetensors(file: Path, tensors: Tensors) -> None:
    arrays = {name: np.asarray(convert_framework_tensor(each, "numpy"), order="C") for name, each in tensors.items()}
    _safetensors().save_file(arrays, file)


def _read_safetensors(file: Path) -> Tensors:
    from safetensors import SafetensorError  # noqa: PLC0415

    try:
        return dict(_safetensors().load_file(file))
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def _safetensors() -> Any:
    try:
        import safetensors.numpy  # noqa: PLC0415
    except ImportError:
        raise TensorError(".safetensors needs its library: pip install safetensors") from None
    return safetensors.numpy


FORMATS: dict[str, tuple[Callable[[Path, Tensors], None], Callable[[Path], Tensors]]] = {
    ".npy": (_write_npy, _read_npy),
    ".arrow": (_write_arrow, _read_arrow),
    ".safetensors": (_write_safetensors, _read_safetensors),
}
