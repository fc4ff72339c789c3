"""The read model: one row a job and a conversion, moved by the events of the log.

Each kind of event is one statement in a literal table. No row is read to be changed: the log has already decided which
event may follow which, so an update states what the event says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from trainyard.common.bus.port import Batch
from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.lifecycle.transitions import RULES
from trainyard.common.projection.store import Store

SCHEMA = """
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, last_seq INTEGER NOT NULL,
  name TEXT NOT NULL, project TEXT NOT NULL, framework TEXT NOT NULL, owner TEXT NOT NULL,
  state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, reason TEXT, message TEXT,
  submitted_at TEXT NOT NULL, started_at TEXT, ended_at TEXT, retry_of TEXT,
  spec TEXT NOT NULL, resolution TEXT, progress TEXT, restarts TEXT, result TEXT,
  resized TEXT, shape TEXT
);
CREATE INDEX jobs_by_state ON jobs (state, seq);
CREATE INDEX jobs_by_owner ON jobs (owner, seq);
CREATE TABLE labels (
  key TEXT NOT NULL, value TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (key, value, seq)
) WITHOUT ROWID;
CREATE TABLE conversions (
  conversion_id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, last_seq INTEGER NOT NULL, job_id TEXT,
  name TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL, step TEXT, fraction REAL NOT NULL DEFAULT 0,
  message TEXT, requested_at TEXT NOT NULL, ended_at TEXT, result TEXT
);
CREATE INDEX conversions_by_job ON conversions (job_id, seq);
CREATE INDEX conversions_by_state ON conversions (state, name, seq)
"""

Row = dict[str, Any]
Statement = tuple[str, Row]


class ReadModel:
    def __init__(self, store: Store) -> None:
        self.store = store

    def apply(self, batch: Batch) -> None:
        """The whole batch and its cursor, or nothing."""
        with self.store.transaction() as db:
            for recorded in batch.events:
                for statement, values in statements(recorded):
                    db.execute(statement, values)
            self.store.advance(batch.last)


def statements(recorded: Recorded[Any]) -> Iterable[Statement]:
    """What one event changes."""
    event = recorded.event
    if isinstance(event, events.JobSubmitted):
        return _submitted(recorded)
    if isinstance(event, events.JobEvent):
        return [_job_update(recorded)]
    if isinstance(event, events.ConversionRequested):
        return [_requested(recorded)]
    if isinstance(event, events.ConversionEvent):
        return [_conversion_update(recorded)]
    return []


def _submitted(recorded: Recorded[events.JobSubmitted]) -> list[Statement]:
    event, spec = recorded.event, recorded.event.spec
    row = {
        "job_id": event.job_id,
        "seq": recorded.seq,
        "last_seq": recorded.seq,
        "name": spec.name,
        "project": spec.project,
        "framework": spec.framework.name,
        "owner": event.owner,
        "state": "submitted",
        "submitted_at": recorded.time,
        "retry_of": event.retry_of,
        "spec": spec.model_dump_json(exclude_none=True),
    }
    labels = [
        ("INSERT OR IGNORE INTO labels VALUES (:key, :value, :seq)", {"key": k, "value": v, "seq": recorded.seq})
        for k, v in spec.labels.items()
    ]
    return [(_insert("jobs", row), row), *labels]


def _requested(recorded: Recorded[events.ConversionRequested]) -> Statement:
    event = recorded.event
    row = {
        "conversion_id": event.conversion_id,
        "seq": recorded.seq,
        "last_seq": recorded.seq,
        "job_id": event.job_id,
        "name": event.spec.convert.name or event.conversion_id,
        "owner": event.owner,
        "state": "requested",
        "requested_at": recorded.time,
    }
    return _insert("conversions", row), row


def _job_update(recorded: Recorded[events.JobEvent]) -> Statement:
    event = recorded.event
    row: Row = {"last_seq": recorded.seq}
    target = RULES[event.kind].target
    if target is not None:
        row |= {"state": target.value, "message": getattr(event, "message", None), "reason": _reason(event)}
        if target.terminal:
            row |= {"ended_at": recorded.time, "result": event.dump().decode()}
        if "attempt" in type(event).model_fields:
            row["attempt"] = getattr(event, "attempt", 0)
    extra = _EXTRA.get(event.kind)
    if extra is not None:
        row |= extra(recorded)
    # The first start is the one that people ask for.
    assignments = [
        f"{name} = COALESCE({name}, :{name})" if name == "started_at" else f"{name} = :{name}" for name in row
    ]
    statement = f"UPDATE jobs SET {', '.join(assignments)} WHERE job_id = :key"  # noqa: S608 - our own names
    return statement, {**row, "key": event.job_id}


def _reason(event: events.JobEvent) -> str | None:
    reason = getattr(event, "reason", None)
    return str(reason.value) if reason is not None else None


_EXTRA: dict[str, Callable[[Recorded[Any]], Row]] = {
    "resized": lambda recorded: {"message": recorded.event.message, "resized": json.dumps(recorded.event.roles)},
    "starting": lambda recorded: {"shape": json.dumps(recorded.event.replicas)},
    "resolved": lambda recorded: {"resolution": recorded.event.resolution.dump().decode()},
    "pending": lambda recorded: {"message": recorded.event.message},
    "running": lambda recorded: {"started_at": recorded.time},
    "restarting": lambda recorded: {
        "restarts": recorded.event.model_copy(update={"endings": (), "log_tail": ()}).dump().decode()
    },
    "progress": lambda recorded: {"progress": recorded.event.dump().decode()},
}


def _conversion_update(recorded: Recorded[events.ConversionEvent]) -> Statement:
    event = recorded.event
    row: Row = {"last_seq": recorded.seq}
    if isinstance(event, events.ConversionProgress):
        row |= {"state": "running", "step": event.step, "fraction": event.fraction, "message": event.message or None}
    else:
        row |= {
            "state": event.kind,
            "ended_at": recorded.time,
            "message": getattr(event, "message", None),
            "result": event.dump().decode(),
        }
        if event.kind == "succeeded":
            row["fraction"] = 1.0
    assignments = ", ".join(f"{name} = :{name}" for name in row)
    statement = f"UPDATE conversions SET {assignments} WHERE conversion_id = :key"  # noqa: S608 - our own names
    return statement, {**row, "key": event.conversion_id}


def _insert(table: str, row: Row) -> str:
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"  # noqa: S608


def loads(text: str | None) -> Any:
    return None if text is None else json.loads(text)
