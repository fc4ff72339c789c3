"""What the log says of nodes, in the same SQLite file and transaction as the active jobs (see adapters.projection)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainyard.common.contract import events
from trainyard.common.contract.nodes import Blamed, Machine, NodeEvent
from trainyard.launcher.core.avoiding import record as records
from trainyard.launcher.core.avoiding.record import Record, Strike
from trainyard.launcher.core.job import Job

SCHEMA = "CREATE TABLE node (name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID -- 1"
MOST = 10_000
"""Nodes of which something is known; the one of which nothing was heard for longest goes first."""


class NodeRecords:
    def __init__(self, db: sqlite3.Connection) -> None:
        found = [(row["name"], _load(row["record"])) for row in db.execute("SELECT * FROM node")]
        self._records = dict(sorted(found, key=lambda item: item[1].heard))
        """That of which nothing was heard for longest stands first."""
        self._changed: set[str] = set()

    def all(self) -> Mapping[str, Record]:
        return self._records

    def told(self, event: NodeEvent, seq: int, at: float) -> None:
        known = self._records.get(event.node)
        if known is None or seq > known.seq:
            self._put(event.node, records.told(known, event, seq, at), at)

    def ended(self, job: Job, event: events.JobEvent, at: float) -> None:
        """An attempt of the job, as it was before the event."""
        asked = [] if job.resolution is None else job.resolution.resources
        for blamed in _blamed(event):
            strike = Strike(job.job_id, job.attempt, at, blamed.reason)
            self._put(blamed.node, records.struck(self._records.get(blamed.node), blamed, strike, asked), at)
        if isinstance(event, events.JobSucceeded):
            began = job.attempt_started_at or at
            for name in {ending.node for ending in event.endings} & self._records.keys():
                self._put(name, records.succeeded(self._records[name], job.job_id, began, at, asked), at)

    def save(self, db: sqlite3.Connection) -> None:
        for name in self._changed:
            record = self._records.get(name)
            if record is None:
                db.execute("DELETE FROM node WHERE name = ?", (name,))
            else:
                db.execute("INSERT OR REPLACE INTO node VALUES (?, ?)", (name, _dump(record)))
        self._changed.clear()

    def _put(self, name: str, record: Record | None, at: float) -> None:
        if record is None:
            return
        self._records.pop(name, None)
        self._records[name] = record
        self._changed.add(name)
        for old in self._to_forget(at):
            del self._records[old]
            self._changed.add(old)

    def _to_forget(self, now: float) -> list[str]:
        """From the front, where those stand of which nothing was heard for longest."""
        found: list[str] = []
        for name, record in self._records.items():
            if not (records.over(record, now) or len(self._records) - len(found) > MOST):
                break
            found.append(name)
        return found


def _blamed(event: events.JobEvent) -> Sequence[Blamed]:
    ends = (events.JobRestarting, events.JobFailed, events.JobLost)
    return event.blamed if isinstance(event, ends) else ()


def _dump(record: Record) -> str:
    return json.dumps({**dict(_fields(record)), "machine": record.machine.model_dump(mode="json")})


def _fields(record: Record) -> Iterator[tuple[str, Any]]:
    yield "strikes", [[strike.job_id, strike.attempt, strike.at, strike.reason] for strike in record.strikes]
    yield "asked", sorted(record.asked)
    for name in ("until", "why", "by", "lasted", "seq", "heard", "well"):
        yield name, getattr(record, name)


def _load(text: str) -> Record:
    document = json.loads(text)
    return Record(
        Machine.model_validate(document.pop("machine")),
        tuple(Strike(*strike) for strike in document.pop("strikes")),
        frozenset(document.pop("asked")),
        **document,
    )
