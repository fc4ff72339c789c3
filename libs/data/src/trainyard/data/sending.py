"""What can be sent: something with a schema whose rows can be had again from any of them on. Pure.

A broken upload goes on from the last row that is safe, so a stream that can be read once is no source; a table, a file or a
function of the row to start from is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

BATCH = 4 * 2**20
"""Bytes of what is sent at a time; Flight is fastest from 1 to 4 MiB, and slower above."""
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


def pieces(batch: pa.RecordBatch, size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """The batch in parts of `size` bytes about."""
    if not batch.num_rows:
        return
    each = max(1, batch.num_rows * size // max(batch.nbytes, 1))
    each = max(each - each % ALIGNED, min(each, ALIGNED))
    for start in range(0, batch.num_rows, each):
        yield batch.slice(start, each)
