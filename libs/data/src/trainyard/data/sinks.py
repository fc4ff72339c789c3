"""A dataset as a file that others read: by the ending of its name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

from trainyard.data.errors import InvalidData
from trainyard.data.rows import view

Batches = Iterable[pa.RecordBatch]


def write(path: Path, schema: pa.Schema, batches: Batches) -> int:
    """Whole or not at all; the rows. Raises InvalidData for an ending or a type that has no form there, and for a place that
    takes no file."""
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InvalidData(f"{path.name} ends in nothing that can be written: {', '.join(WRITERS)} can")
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}{path.suffix}")
    try:
        rows = writer(new, schema, batches)
        new.replace(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidData(f"{path.suffix} cannot hold this: {str(error).splitlines()[0]}") from error
    except OSError as error:
        words = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise InvalidData(f"{path} cannot be written: {words}") from error
    finally:
        if os.path.lexists(new):
            new.unlink()
    return rows


def _streamed(open_writer: Callable[[Path, pa.Schema], Any]) -> Callable[[Path, pa.Schema, Batches], int]:
    def write_all(path: Path, schema: pa.Schema, batches: Batches) -> int:
        rows = 0
        with open_writer(path, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
        return rows

    return write_all


def _feather(path: Path, schema: pa.Schema, batches: Batches) -> int:
    table = pa.Table.from_batches(batches, schema)
    feather.write_feather(table, str(path))
    return int(table.num_rows)


def _arrays(path: Path, schema: pa.Schema, batches: Batches) -> int:
    table = pa.Table.from_batches(batches, schema)
    arrays = {name: [view(chunk) for chunk in table[name].chunks] for name in schema.names}
    objects = [name for name, chunks in arrays.items() if chunks and chunks[0].dtype == object]
    if objects:
        raise InvalidData(f"column {objects[0]} is no number and no tensor, which is all that .npz holds: name columns")
    np.savez(
        path, allow_pickle=False, **{name: np.concatenate(chunks) if chunks else [] for name, chunks in arrays.items()}
    )
    return int(table.num_rows)


WRITERS: dict[str, Callable[[Path, pa.Schema, Batches], int]] = {
    ".arrow": _streamed(lambda path, schema: pa.ipc.new_file(str(path), schema)),
    ".parquet": _streamed(lambda path, schema: parquet.ParquetWriter(str(path), schema)),
    ".csv": _streamed(lambda path, schema: csv.CSVWriter(str(path), schema)),
    ".feather": _feather,
    ".npz": _arrays,
}
