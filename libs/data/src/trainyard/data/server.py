"""The Flight server over a store.

GetFlightInfo says what a dataset is and gives a signed ticket for each part, so a client opens as many streams as it likes;
DoGet answers a ticket; DoPut takes an upload from the row where it stands; actions do the rest (`ACTIONS`). Everybody is
somebody: a bearer token, or the local user on loopback (`who`). A token opens everything here but uploads of others; a ticket
opens one part until it expires.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from trainyard.data import host
from trainyard.data.actions import ACTIONS, Call
from trainyard.data.door import Door, Who, caller, command, parsed, told
from trainyard.data.errors import InvalidData, NotFound, Refused
from trainyard.data.manifest import Manifest
from trainyard.data.receiving import receive
from trainyard.data.store import Store
from trainyard.data.tickets import Ticket, seal, unseal


@dataclass(frozen=True, slots=True)
class Serving:
    store: Store
    key: bytes
    """Signs tickets; at least 32 random bytes, the same after a restart."""
    who: Who
    location: str = "grpc://127.0.0.1:0"
    """Where it listens; port 0: any free one. `grpc+tls://` with `certificates`."""
    certificates: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Chain and key, PEM."""
    ticket_life: float = 3600.0
    """Seconds that a ticket is good for."""
    offers_files: bool = True
    """Tell clients of the same host where the parts lie."""
    now: Callable[[], float] = time.time


class DataServer(fl.FlightServerBase):  # type: ignore[misc]
    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._store = serving.store
        super().__init__(
            serving.location,
            middleware={"who": Door(serving.who)},
            tls_certificates=serving.certificates or None,
        )

    def get_flight_info(self, context: Any, descriptor: Any) -> fl.FlightInfo:
        with told():
            asked = command(descriptor)
            manifest = self._store.get(asked.get("dataset", ""), asked.get("version"))
            columns = asked.get("columns") or []
            if not isinstance(columns, list):
                raise InvalidData("columns are no list of names")
            return self._info(manifest, tuple(columns), caller(context))

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[fl.FlightInfo]:
        with told():
            prefix = criteria.decode(errors="replace")
            for manifest in self._store.versions():
                if manifest.name.startswith(prefix):
                    yield _info(manifest, manifest.arrow_schema(), [])

    def do_get(self, context: Any, ticket: Any) -> fl.FlightDataStream:
        with told():
            opened = unseal(ticket.ticket, self._serving.key, self._serving.now())
            if opened.holder != caller(context):
                raise Refused("this ticket was given to somebody else: ask for one of your own (GetFlightInfo)")
            manifest = self._store.get(opened.dataset, opened.version)
            file = self._store.part(manifest, opened.part)
            try:
                table = host.opened(str(file), opened.columns)
            except FileNotFoundError:
                raise NotFound(f"{opened.dataset}, version {opened.version}, was removed") from None
            except (pa.ArrowInvalid, OSError) as error:
                words = f"part {opened.part} of {opened.dataset}, version {opened.version}, is damaged"
                raise InvalidData(f"{words}: {error}") from error
            return fl.RecordBatchStream(table)

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        with told():
            asked = command(descriptor)
            manifest = self._store.upload(asked.get("upload", ""), caller(context))
            if not reader.schema.equals(manifest.arrow_schema(), check_metadata=True):
                raise InvalidData(
                    f"the upload has {_words(manifest.arrow_schema())}, this stream {_words(reader.schema)}"
                )
            if asked.get("offset") != manifest.rows:
                raise InvalidData(
                    f"the upload has {manifest.rows} rows: go on from there, not from {asked.get('offset')}"
                )
            receive(
                self._store,
                asked["upload"],
                ((chunk.data, chunk.app_metadata.to_pybytes() if chunk.app_metadata else b"") for chunk in reader),
                lambda rows: writer.write(json.dumps({"rows": rows}).encode()),
            )

    def list_actions(self, context: Any) -> list[tuple[str, str]]:
        return [(name, (action.__doc__ or "").split("\n")[0]) for name, action in ACTIONS.items()]

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        with told():
            if action.type not in ACTIONS:
                raise InvalidData(f"there is no action {action.type}: {', '.join(ACTIONS)}")
            body = action.body.to_pybytes() if action.body else b""
            call = Call(self._store, caller(context), parsed(body), self._serving.now())
            return [json.dumps(ACTIONS[action.type](call)).encode()]

    def _info(self, manifest: Manifest, columns: tuple[str, ...], caller: str) -> fl.FlightInfo:
        schema = manifest.arrow_schema()
        unknown = [name for name in columns if name not in schema.names]
        if unknown:
            raise InvalidData(f"{manifest.name} has no column {unknown[0]}: {', '.join(schema.names)}")
        twice = [name for name in columns if columns.count(name) > 1]
        if twice:
            raise InvalidData(f"column {twice[0]} is asked for twice")
        expires = self._serving.now() + self._serving.ticket_life
        endpoints = []
        for index in range(len(manifest.parts)):
            ticket = Ticket(manifest.name, manifest.version, index, caller, expires, columns)
            offered = host.offer(self._store.part(manifest, index)).as_dict() if self._serving.offers_files else None
            endpoints.append(
                fl.FlightEndpoint(
                    seal(ticket, self._serving.key),
                    [],  # no location: where it was asked
                    app_metadata=json.dumps({"file": offered, "rows": manifest.parts[index].rows}).encode(),
                )
            )
        chosen = pa.schema([schema.field(name) for name in columns], schema.metadata) if columns else schema
        return _info(manifest, chosen, endpoints)


def _info(manifest: Manifest, schema: pa.Schema, endpoints: list[fl.FlightEndpoint]) -> fl.FlightInfo:
    about = {"version": manifest.version, "created": manifest.created, "labels": manifest.labels}
    descriptor = fl.FlightDescriptor.for_path(manifest.name)
    return fl.FlightInfo(
        schema, descriptor, endpoints, manifest.rows, manifest.size, app_metadata=json.dumps(about).encode()
    )


def _words(schema: pa.Schema) -> str:
    return ", ".join(f"{column.name}: {column.type}" for column in schema) or "no columns"
