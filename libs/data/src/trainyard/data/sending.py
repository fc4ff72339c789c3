"""What can be sent: something with a schema whose rows can be had again from any of them on. Pure.

A broken upload goes on from the last row that is safe, so a stream that can be read once is no source; a table, a file or a
function of the row to start from is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from trainyard.data.errors import InvalidData

BATCH = 4 * 2**20
"""Bytes of what is sent at a time; Flight is fastest from 1 to 4 MiB, and slower above."""
LARGEST = 2**31 - 2**16
"""Bytes of a row, at most: a message of gRPC ends at 2 GiB, names and lengths included."""
ALIGNED = 512
"""Rows of a batch are a multiple: then every column of numbers of at least one bit fills whole 64 bytes."""


@dataclass(frozen=True, slots=True)
class Source:
    schema: pa.Schema
    rows_from: Callable[[int], Iterator[pa.RecordBatch]]
    """The rows from this one on, every time the same."""


def source_of(data: pa.Table | pa.RecordBatch | Source) -> Source:
    if isinstance(data, Source):
        return data
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    return Source(table.schema, lambda row: iter(table.slice(row).to_batches()))


def pieces(batches: Iterable[pa.RecordBatch], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `size` bytes about: large ones are cut, small ones are joined. Raises InvalidData where a
    row is too large for any."""
    held: list[pa.RecordBatch] = []
    room = size
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            room -= batch.nbytes
        if room <= 0:
            yield from _cut(_joined(held), size)
            held, room = [], size
    if held:
        yield from _cut(_joined(held), size)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _cut(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    each = max(1, batch.num_rows * size // max(batch.nbytes, 1))
    each = max(each - each % ALIGNED, min(each, ALIGNED))
    for start in range(0, batch.num_rows, each):
        piece = batch.slice(start, each)
        if piece.nbytes > LARGEST:
            raise InvalidData(
                f"row {start} has {piece.nbytes} bytes, a row of {LARGEST} at most can be sent: cut it into several"
            )
        yield piece
