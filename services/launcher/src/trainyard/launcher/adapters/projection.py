"""The active jobs in SQLite, and what is known of nodes: what a launcher that starts knows before it has read the rest of
the log."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import structlog

from trainyard.common.bus.port import Batch
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.events import JobSubmitted, Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.model import STORED
from trainyard.common.contract.nodes import Avoided, Blamed, NodeEvent
from trainyard.common.contract.resizing import sized, sizes
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import Head, IllegalTransition
from trainyard.common.projection.store import Store
from trainyard.launcher.adapters import node_records
from trainyard.launcher.adapters.node_records import NodeRecords
from trainyard.launcher.core import job as jobs
from trainyard.launcher.core.job import Job

log = structlog.get_logger()

SCHEMA = (
    "CREATE TABLE active (job_id TEXT PRIMARY KEY, spec TEXT NOT NULL, rest TEXT NOT NULL) WITHOUT ROWID -- 6\n;"
    + node_records.SCHEMA
)


class ActiveJobs:
    """What the log says of the jobs that have not ended, exactly as far as the cursor."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs: dict[str, Job] = {
            row["job_id"]: _load(row["job_id"], row["spec"], row["rest"])
            for row in store.db.execute("SELECT * FROM active")
        }

        self._stored = set(self._jobs)
        self.nodes = NodeRecords(store.db)

    @property
    def cursor(self) -> int:
        return self._store.cursor

    def all(self) -> dict[str, Job]:
        return dict(self._jobs)

    def apply(self, batch: Batch) -> list[Job]:
        """The jobs that the batch has moved, as they are after it (ended ones too)."""
        touched: dict[str, Job] = {}
        for recorded in batch.events:
            moved = self._fold(recorded)
            if moved is not None:
                touched[moved.job_id] = moved
        with self._store.transaction() as db:
            for moved in touched.values():
                self._save(db, moved)
            self.nodes.save(db)
            self._store.advance(batch.last)
        return list(touched.values())

    def _save(self, db: sqlite3.Connection, job: Job) -> None:
        """Of the spec, which is most of a job, only the size changes; a job that began and ended within one batch is never
        written."""
        known = job.job_id in self._stored
        if job.head.terminal:
            self._jobs.pop(job.job_id, None)
            self._stored.discard(job.job_id)
            if known:
                db.execute("DELETE FROM active WHERE job_id = ?", (job.job_id,))
        elif known:
            db.execute("UPDATE active SET rest = ? WHERE job_id = ?", (_rest(job), job.job_id))
        else:
            self._stored.add(job.job_id)
            spec = job.spec.model_dump_json(exclude_none=True)
            db.execute("INSERT INTO active VALUES (?, ?, ?)", (job.job_id, spec, _rest(job)))

    def _fold(self, recorded: Recorded[Any]) -> Job | None:
        event = recorded.event
        if isinstance(event, NodeEvent):
            self.nodes.told(event, recorded.seq, jobs.seconds(recorded.time))
            return None
        if isinstance(event, JobSubmitted):
            moved = jobs.begin(recorded)
        else:
            known = self._jobs.get(event.job_id)
            if known is None:  # ended before the cursor
                return None
            try:
                moved = jobs.apply(known, event, recorded.seq, jobs.seconds(recorded.time))
            except IllegalTransition as error:
                # Somebody wrote past the table. The log cannot be mended; the job goes on from where it stands.
                log.error("illegal event in the log", seq=recorded.seq, error=str(error))
                return None
            if moved is not known:
                self.nodes.ended(known, event, jobs.seconds(recorded.time))
        self._jobs[moved.job_id] = moved
        return moved


def _rest(job: Job) -> str:
    head = job.head
    return json.dumps(
        {
            "head": {"state": head.state, "seq": head.seq, "attempt": head.attempt, "path": head.path},
            "owner": job.owner,
            "submitted_at": job.submitted_at,
            "resolution": job.resolution.model_dump(mode="json", exclude_none=True) if job.resolution else None,
            "devices": job.devices,
            "started_at": job.started_at,
            "attempt_started_at": job.attempt_started_at,
            "blamed": [[at, blamed.model_dump(mode="json", exclude_none=True)] for at, blamed in job.blamed],
            "allowed": job.allowed,
            "avoids": [avoided.model_dump(mode="json") for avoided in job.avoids],
            "paused": job.paused,
            "paused_at": job.paused_at,
            "used": job.used,
            "trace": job.trace,
            "sizes": sizes(job.spec) if job.asked else {},
            "asked": job.asked,
            "resizes": job.resizes,
            "unblamed": job.unblamed,
        }
    )


def _load(job_id: str, spec: str, rest: str) -> Job:
    document = json.loads(rest)
    head = document.pop("head")
    return Job(
        head=Head(job_id, State(head["state"]), head["seq"], head["attempt"], tuple(head["path"])),
        spec=sized(JobSpec.model_validate_json(spec, extra="ignore", context=STORED), document["sizes"]),
        owner=document["owner"],
        submitted_at=document["submitted_at"],
        resolution=Resolution.model_validate(found) if (found := document["resolution"]) else None,
        devices=tuple(tuple(given) for given in document["devices"]),
        started_at=document["started_at"],
        attempt_started_at=document["attempt_started_at"],
        blamed=tuple((float(at), Blamed.model_validate(blamed)) for at, blamed in document["blamed"]),
        allowed=tuple(document["allowed"]),
        avoids=tuple(Avoided.model_validate(avoided) for avoided in document["avoids"]),
        paused=document["paused"],
        paused_at=document["paused_at"],
        used=tuple((str(name), int(count)) for name, count in document["used"]),
        trace=document["trace"],
        asked=tuple((str(role), int(count)) for role, count in document["asked"]),
        resizes=document["resizes"],
        unblamed=document["unblamed"],
    )
