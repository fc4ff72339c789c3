"""A client of a data server: put and get tables, and look after datasets.

    client = Client("grpc://127.0.0.1:8815", token=…)
    client.put("digits", table)
    client.get("digits", columns=["pixels"])        # a pyarrow.Table, mapped where the server is on this host

Every call outlives a server that goes away for a while (`patience`): an upload goes on from the last part that is safe, a
download from the last batch that came. Errors are of trainyard.data.errors.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as fl

from trainyard.data import host
from trainyard.data.connecting import connect
from trainyard.data.errors import DataError, Expired, Unavailable, from_flight
from trainyard.data.patience import Patience
from trainyard.data.receiving import digest
from trainyard.data.sending import Source, pieces, source_of
from trainyard.data.store import new_upload

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PartPlace:
    """Where one part of a dataset can be had."""

    ticket: bytes
    rows: int
    file: host.Offer | None


@dataclass(frozen=True, slots=True)
class Found:
    name: str
    version: str
    schema: pa.Schema
    rows: int
    size: int
    """Bytes, of all columns."""
    columns: tuple[str, ...]
    parts: tuple[PartPlace, ...]


class Client:
    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        roots: bytes | None = None,
        same_host: bool = True,
        patience: float = 30.0,
    ) -> None:
        """`url`: grpc://host:port, or grpc+tls:// with `roots` (PEM) where its authority is not a public one. `patience`: the
        seconds that a server may be away. Raises InvalidData and Refused for what is no address and no token."""
        self._flight, self._options = connect(url, token, roots)
        self._same_host = same_host
        self._patience = patience

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._flight.close()

    # -- reading

    def find(self, name: str, version: str | None = None, columns: tuple[str, ...] = ()) -> Found:
        command = json.dumps({"dataset": name, "version": version, "columns": columns}).encode()
        info = self._patient(
            lambda: self._flight.get_flight_info(fl.FlightDescriptor.for_command(command), self._options)
        )
        parts = []
        for endpoint in info.endpoints:
            about = json.loads(endpoint.app_metadata)
            file = host.Offer(**about["file"]) if about["file"] else None
            parts.append(PartPlace(endpoint.ticket.ticket, about["rows"], file))
        version = json.loads(info.app_metadata)["version"]
        return Found(name, version, info.schema, info.total_records, info.total_bytes, columns, tuple(parts))

    def get(self, name: str, version: str | None = None, columns: tuple[str, ...] = (), streams: int = 2) -> pa.Table:
        """The whole of it, parts in order; `streams` at a time where it does not lie on this host."""
        found = self.find(name, version, columns)
        with ThreadPoolExecutor(max(1, streams)) as pool:
            tables = list(pool.map(lambda index: self.part(found, index), range(len(found.parts))))
        return pa.concat_tables(tables) if tables else pa.Table.from_batches([], found.schema)

    def part(self, found: Found, index: int) -> pa.Table:
        mapped = self.near(found, index)
        return mapped if mapped is not None else pa.Table.from_batches(self.stream(found, index), found.schema)

    def batches(self, name: str, version: str | None = None, columns: tuple[str, ...] = ()) -> Iterator[pa.RecordBatch]:
        """One after the other; memory for one."""
        yield from self.batches_from(self.find(name, version, columns), 0)

    def batches_from(self, found: Found, row: int) -> Iterator[pa.RecordBatch]:
        """The rows from this one on."""
        for index, part in enumerate(found.parts):
            if row < part.rows:
                mapped = self.near(found, index)
                for batch in mapped.to_batches() if mapped is not None else self.stream(found, index):
                    if row < batch.num_rows:
                        yield batch.slice(row)
                    row = max(0, row - batch.num_rows)
            else:
                row -= part.rows

    def near(self, found: Found, index: int) -> pa.Table | None:
        """One part, mapped; None where it does not lie on this host."""
        place = found.parts[index]
        if not self._same_host or place.file is None:
            return None
        table = host.take(place.file)
        return table if table is None or not found.columns else table.select(list(found.columns))

    def stream(self, found: Found, index: int) -> Iterator[pa.RecordBatch]:
        """The batches of one part, from the server. A stream that breaks is opened again; what came before is passed over. A
        ticket that has expired meanwhile is renewed."""
        came = 0
        trying = Patience(self._patience)
        ticket, renewed = found.parts[index].ticket, False
        while True:
            try:
                for number, chunk in enumerate(self._flight.do_get(fl.Ticket(ticket), self._options)):
                    if number >= came:
                        came, renewed = came + 1, False
                        trying.succeeded()
                        yield chunk.data
                return
            except pa.ArrowException as error:
                fault = from_flight(error)
                if isinstance(fault, Expired) and not renewed:
                    ticket = self.find(found.name, found.version, found.columns).parts[index].ticket
                    renewed = True
                else:
                    trying.failed(fault)

    # -- writing

    def put(
        self,
        name: str,
        data: pa.Table | pa.RecordBatch | Source,
        *,
        labels: dict[str, str] | None = None,
        upload: str | None = None,
        progress: Callable[[int], None] = lambda rows: None,
    ) -> dict[str, Any]:
        """The data becomes the current version of `name`, all at once; what is told of it. `upload`: an id of yours, to go on
        with it from another process after this one died. `progress` is told the rows that are safe, by another
        thread."""
        source = source_of(data)
        own = upload or new_upload()
        try:
            return self._put(name, source, labels or {}, own, progress)
        except Exception as error:
            if upload is None and not isinstance(error, Unavailable):  # nobody can go on with it
                with suppress(DataError):
                    self.act("give-up", upload=own)
            raise

    def _put(
        self, name: str, source: Source, labels: dict[str, str], upload: str, progress: Callable[[int], None]
    ) -> dict[str, Any]:
        schema = b64encode(source.schema.serialize().to_pybytes()).decode()
        asked = {"upload": upload, "dataset": name, "schema": schema, "labels": labels}
        trying = Patience(self._patience)
        reached = -1
        while True:
            try:
                rows = self._act("begin", asked)["rows"]
                if rows > reached:
                    trying.succeeded()
                    reached = rows
                total = self._send(upload, source, rows, progress)
                return self._act("commit", {"dataset": name, "upload": upload, "rows": total})
            except pa.ArrowException as error:
                trying.failed(from_flight(error))

    def _send(self, upload: str, source: Source, offset: int, progress: Callable[[int], None]) -> int:
        """From row `offset` on; the rows of the whole."""
        command = json.dumps({"upload": upload, "offset": offset}).encode()
        writer, reader = self._flight.do_put(fl.FlightDescriptor.for_command(command), source.schema, self._options)
        total = offset
        hearing = Thread(target=_hear, args=(reader, progress), daemon=True)
        hearing.start()
        try:
            for piece in pieces(source.rows_from(offset)):
                writer.write_with_metadata(piece, digest(piece))
                total += piece.num_rows
        finally:
            with suppress(pa.ArrowException):  # close() says it better
                writer.done_writing()
            hearing.join()
            writer.close()  # raises what the server said, also where a write failed before
        return total

    # -- looking after

    def list(self, prefix: str = "") -> list[dict[str, Any]]:
        return list(self._patient(lambda: self._act("list", {"prefix": prefix}))["datasets"])

    def act(self, action: str, **said: Any) -> dict[str, Any]:
        """An action of trainyard.data.actions by its name."""
        return self._patient(lambda: self._act(action, said))

    def _act(self, action: str, said: dict[str, Any]) -> dict[str, Any]:
        results = list(self._flight.do_action(fl.Action(action, json.dumps(said).encode()), self._options))
        return dict(json.loads(results[0].body.to_pybytes()))

    def _patient(self, call: Callable[[], _T]) -> _T:
        trying = Patience(self._patience)
        while True:
            try:
                return call()
            except pa.ArrowException as error:
                trying.failed(from_flight(error))


def _hear(reader: fl.FlightMetadataReader, progress: Callable[[int], None]) -> None:
    """What is acknowledged while we write. How a stream ended is told by its writer."""
    with suppress(pa.ArrowException):
        while (told := reader.read()) is not None:
            progress(json.loads(told.to_pybytes())["rows"])
