"""Arrow files whose memory every framework takes as it lies: bodies of record batches begin at a multiple of 64 bytes.

Arrow's own writer pads to 8 bytes and pyarrow cannot tell it otherwise. Each batch may carry metadata of its own, so a few
blanks there move its body to where it has to be. Any reader of Arrow files reads them.
"""

from __future__ import annotations

from types import TracebackType

import pyarrow as pa

from trainyard.tensors.facts import ALIGNMENT

_STEP = 8  # what Arrow pads a message's head to


class AlignedWriter:
    """Writes an Arrow file. Within a batch a column begins at a multiple of 64 bytes where those before it end at one: put as
    many rows into a batch as fill whole 64 bytes of each column (512 always do)."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._sink = pa.OSFile(path, "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)
        self._heads = _Heads(schema)
        self._begun = False  # the schema is written with the first batch

    def write_batch(self, batch: pa.RecordBatch) -> None:
        start = self._sink.tell() if self._begun else self._heads.first
        self._begun = True
        blanks = self._heads.blanks(start, batch)
        self._writer.write_batch(batch, custom_metadata={"aligned": " " * blanks})

    def close(self) -> None:
        self._writer.close()
        self._sink.close()

    def abandon(self) -> None:
        """The file is not whole then."""
        self._sink.close()

    def __enter__(self) -> AlignedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon() if kind else self.close()


class _Heads:
    """How many bytes stand before a batch's body. They depend on its columns and on the blanks, not on its rows."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._known: dict[int, int] = {}
        self.first = len(b"ARROW1\0\0") + len(schema.serialize())
        """Where the first batch begins."""

    def blanks(self, start: int, batch: pa.RecordBatch) -> int:
        row = batch.slice(0, 1)  # an empty one has a shorter head
        for blanks in range(0, ALIGNMENT, _STEP):
            if blanks not in self._known:
                self._known[blanks] = self._measured(row, blanks)
            if (start + self._known[blanks]) % ALIGNMENT == 0:
                return blanks
        return 0

    def _measured(self, row: pa.RecordBatch, blanks: int) -> int:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as writer:
            writer.write_batch(row)
            began = sink.tell()
            writer.write_batch(row, custom_metadata={"aligned": " " * blanks})
            ended = sink.tell()
        return int(ended - began - pa.ipc.read_message(sink.getvalue().slice(began)).body.size)
