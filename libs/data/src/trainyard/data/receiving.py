"""Takes the batches of an upload and writes them as parts; each batch is held to the digest that came with it.

Called by the server for each DoPut. Memory: one batch at a time, whatever the upload's size; gRPC holds the sender back while
we write. An acknowledgement means that a part is whole and stays, so a client goes on from the last one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from trainyard.data.errors import InvalidData
from trainyard.data.manifest import PART
from trainyard.data.store import Store
from trainyard.tensors.aligning import AlignedWriter


def digest(batch: pa.RecordBatch) -> bytes:
    """XXH3-128 of the batch as Arrow's IPC writes it: the same on both sides, however it lies in memory."""
    import xxhash  # noqa: PLC0415 - who only reads can do without

    return xxhash.xxh3_128_digest(batch.serialize())


def receive(
    store: Store,
    upload: str,
    chunks: Iterable[tuple[pa.RecordBatch, bytes]],
    acknowledge: Callable[[int], None],
    part_size: int = PART,
) -> None:
    """Until `chunks` (batch, digest) end. `acknowledge` is told the rows that are safe. Raises InvalidData, Full, and
    Conflict when another stream goes on with this upload."""
    begun = store.upload(upload)
    index = len(begun.parts)
    part: _Part | None = None
    try:
        for batch, sent in chunks:
            check(batch, sent)
            part = part or _Part(store.folder(upload), begun.arrow_schema())
            part.write(batch)
            if part.size >= part_size:
                acknowledge(store.add(upload, index, part.finished(), part.rows).rows)
                part, index = None, index + 1
        if part is not None:
            acknowledge(store.add(upload, index, part.finished(), part.rows).rows)
            part = None
    finally:
        if part is not None:
            part.drop()


def check(batch: pa.RecordBatch, sent: bytes) -> None:
    """That it is sound, and what was sent: whoever maps a part reads where its offsets point, so they are looked at once,
    here, and first: the digest reads there too. Raises InvalidData."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        words = f"a batch of {batch.num_rows} rows is no Arrow data: {str(error).splitlines()[0]}"
        raise InvalidData(words) from error
    if digest(batch) != sent:
        raise InvalidData(f"a batch of {batch.num_rows} rows arrived damaged: its digest is not the one that was sent")


class _Part:
    """An Arrow file on its way, under a name of its own. Whoever maps it has its columns at a multiple of 64 bytes, so JAX
    and TensorFlow take them as they lie."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._path = folder / f".{secrets.token_hex(8)}.new"
        self._writer = AlignedWriter(str(self._path), schema)
        self.rows = 0
        self.size = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)
        self.rows += batch.num_rows
        self.size += batch.nbytes

    def finished(self) -> Path:
        self._writer.close()
        return self._path

    def drop(self) -> None:
        self._writer.abandon()
        self._path.unlink(missing_ok=True)
