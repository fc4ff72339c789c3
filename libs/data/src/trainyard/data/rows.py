"""The rows of a dataset in any order, as numpy arrays.

Parts on this host are mapped where they lie. Others are fetched once into files of a scratch folder and mapped from there:
memory holds what is being read, whatever the dataset's size, and the kernel keeps what is read often.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trainyard.data.client import Client, Found
from trainyard.data.errors import InvalidData

Array = npt.NDArray[Any]


class Rows:
    """Of one version. Parts are opened when a row of theirs is first asked for. Threads may share it."""

    def __init__(self, client: Client, found: Found) -> None:
        self._client = client
        self._found = found
        self._first = np.cumsum([0, *(part.rows for part in found.parts)])
        self._open: dict[int, _Part] = {}
        self._opening = threading.Lock()  # two that fetch one part would write one file
        self._scratch: Path | None = None
        self.columns = tuple(found.schema.names)

    def __len__(self) -> int:
        return int(self._first[-1])

    def take(self, rows: npt.NDArray[np.int64]) -> dict[str, Array]:
        """Column → its values for these rows, in their order: numbers and tensors as arrays [rows, …], the rest as objects.
        What lies in one piece is not copied, and then read-only."""
        part_of = np.searchsorted(self._first, rows, side="right") - 1
        if not len(rows) or (part_of[0] == part_of[-1] and (part_of == part_of[0]).all()):
            index = int(part_of[0]) if len(rows) else 0
            return self._part(index).take(rows - self._first[index]) if self._found.parts else self._empty()
        found: dict[str, Array] = {}
        for index in np.unique(part_of):
            here = part_of == index
            for name, values in self._part(int(index)).take(rows[here] - self._first[index]).items():
                if name not in found:
                    found[name] = np.empty((len(rows), *values.shape[1:]), values.dtype)
                found[name][here] = values
        return found

    def close(self) -> None:
        self._open.clear()
        if self._scratch is not None:
            self._removal()
            self._scratch = None

    def _empty(self) -> dict[str, Array]:
        return {name: np.empty(0, object) for name in self.columns}

    def _part(self, index: int) -> _Part:
        with self._opening:
            if index not in self._open:
                mapped = self._client.near(self._found, index)
                self._open[index] = _Part(mapped if mapped is not None else self._fetched(index))
            return self._open[index]

    def _fetched(self, index: int) -> pa.Table:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="trainyard-data-"))
            self._removal = weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        file = self._scratch / f"part-{index}.arrow"
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, self._found.schema) as writer:
            for batch in self._client.stream(self._found, index):
                writer.write_batch(batch)
        return pa.ipc.open_file(pa.memory_map(str(file))).read_all()


class _Part:
    """Its columns, a view for each batch that it was written in."""

    def __init__(self, table: pa.Table) -> None:
        batches = [batch for batch in table.to_batches() if batch.num_rows]
        self._first = np.cumsum([0, *(batch.num_rows for batch in batches)])
        self._columns = {name: [view(batch.column(name)) for batch in batches] for name in table.schema.names}

    def take(self, rows: npt.NDArray[np.int64]) -> dict[str, Array]:
        batch_of = np.searchsorted(self._first, rows, side="right") - 1
        first = int(batch_of[0]) if len(rows) else 0
        if (batch_of == first).all():
            return {name: _of_one(views[first], rows - self._first[first]) for name, views in self._columns.items()}
        found = {name: _room(views, len(rows)) for name, views in self._columns.items()}
        for index in np.unique(batch_of):
            here = np.flatnonzero(batch_of == index)
            there = rows[here] - self._first[index]
            for name, views in self._columns.items():
                found[name][here] = views[index][there]
        return found


def view(column: pa.Array) -> Array:
    """The same memory as [rows, …]; what numpy has no form for is copied, as objects. Raises InvalidData where numbers are
    missing."""
    kind, shape = column.type, [len(column)]
    while isinstance(kind, pa.BaseExtensionType) or pa.types.is_fixed_size_list(kind):
        if isinstance(kind, pa.FixedShapeTensorType):
            if kind.permutation not in (None, list(range(len(kind.shape)))):
                return np.asarray(column.to_numpy_ndarray())
            shape += kind.shape
            column = column.storage.flatten()
        elif isinstance(kind, pa.BaseExtensionType):
            column = column.storage
        else:
            shape.append(kind.list_size)
            column = column.flatten()
        kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object).reshape(shape[:1])
    if column.null_count:
        raise InvalidData(f"{column.null_count} of {len(column)} numbers are missing: fill them before they are put")
    return np.asarray(column.to_numpy(zero_copy_only=False)).reshape(shape)


def _of_one(values: Array, rows: npt.NDArray[np.int64]) -> Array:
    if len(rows) and (len(rows) == 1 or (np.diff(rows) == 1).all()):
        return values[int(rows[0]) : int(rows[-1]) + 1]
    return values[rows]


def _room(views: Sequence[Array], rows: int) -> Array:
    return np.empty((rows, *views[0].shape[1:]), views[0].dtype)
