"""Batches through a function of another process: the client of trainyard.data.exchange."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread

import pyarrow as pa
import pyarrow.flight as fl

from trainyard.data.connecting import connect
from trainyard.data.errors import from_flight
from trainyard.data.patience import Patience
from trainyard.data.receiving import check, digest
from trainyard.data.sending import Source, pieces

Pair = tuple[pa.RecordBatch, pa.RecordBatch]


class Exchange:
    """A client of a FunctionServer."""

    def __init__(
        self, url: str, token: str | None = None, *, roots: bytes | None = None, patience: float = 30.0
    ) -> None:
        """As of trainyard.data.client.Client."""
        self._flight, self._options = connect(url, token, roots)
        self._patience = patience

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self._flight.close()

    def functions(self) -> dict[str, tuple[str, ...]]:
        """Name → the columns that it takes; none: any."""
        trying = Patience(self._patience)
        while True:
            try:
                results = list(self._flight.do_action(fl.Action("functions", b""), self._options))
                said = json.loads(results[0].body.to_pybytes())["functions"]
                return {each["name"]: tuple(each["inputs"]) for each in said}
            except pa.ArrowException as error:
                trying.failed(from_flight(error))

    def through(self, function: str, source: Source, columns: Mapping[str, str], row: int = 0) -> Iterator[Pair]:
        """(rows of `source`, what is answered), from `row` on, in order. `columns`: input of the function → column. Where the
        connection breaks, rows without an answer are sent again, so the function has to answer them alike."""
        trying = Patience(self._patience)
        while True:
            left = pieces(source.rows_from(row))
            first = next(left, None)
            if first is None:
                return
            stream = _Stream(itertools.chain([first], left), columns)
            try:
                for sent, answered in stream.run(self._flight, function, self._options):
                    row += sent.num_rows
                    trying.succeeded()
                    yield sent, answered
                return
            except pa.ArrowException as error:
                trying.failed(from_flight(error))


@dataclass
class _Stream:
    """One DoExchange: a thread sends while the caller reads, or both ends would wait for each other."""

    batches: Iterator[pa.RecordBatch]
    """One at least."""
    columns: Mapping[str, str]
    _sent: deque[pa.RecordBatch] = field(default_factory=deque)
    _fault: Exception | None = None

    def run(self, flight: fl.FlightClient, function: str, options: fl.FlightCallOptions) -> Iterator[Pair]:
        descriptor = fl.FlightDescriptor.for_command(json.dumps({"function": function}).encode())
        writer, reader = flight.do_exchange(descriptor, options)
        sending = Thread(target=self._send, args=(writer, reader), daemon=True)
        sending.start()
        try:
            yield from self._answers(reader)
            sending.join()
            if self._fault is not None:  # what we could not read, not what the server said
                raise self._fault
            if self._sent:
                raise fl.FlightInternalError(f"{len(self._sent)} batches were not answered")
        finally:
            reader.cancel()
            sending.join()
            with suppress(pa.ArrowException):
                writer.close()

    def _answers(self, reader: fl.FlightStreamReader) -> Iterator[Pair]:
        try:
            for chunk in reader:
                check(chunk.data, chunk.app_metadata.to_pybytes() if chunk.app_metadata else b"")
                yield self._sent.popleft(), chunk.data
        except pa.ArrowException:
            if self._fault is not None:
                raise self._fault from None
            raise

    def _send(self, writer: fl.FlightStreamWriter, reader: fl.FlightStreamReader) -> None:
        try:
            begun = False
            for batch in self.batches:
                chosen = _chosen(batch, self.columns)
                if not begun:
                    writer.begin(chosen.schema)
                    begun = True
                self._sent.append(batch)
                writer.write_with_metadata(chosen, digest(chosen))
            writer.done_writing()
        except pa.ArrowException:
            pass  # the reader says it better
        except Exception as error:  # noqa: BLE001 - raised again by who reads
            self._fault = error
            reader.cancel()


def _chosen(batch: pa.RecordBatch, columns: Mapping[str, str]) -> pa.RecordBatch:
    """The inputs, under the names that the function has for them."""
    return pa.record_batch({name: batch.column(column) for name, column in columns.items()})
