"""Reading the read model. Every statement runs on an index and takes microseconds, so it runs where it is called."""

from __future__ import annotations

import sqlite3
from typing import Any

from trainyard.common.contract.resizing import sizes_of
from trainyard.common.contract.views import ConversionPage, ConversionView, JobPage, JobView, ModelPage, ModelView
from trainyard.job_api.adapters.projection import loads
from trainyard.job_api.core.pages import JobFilter, encode_cursor


class Queries:
    """Implements ports.Reads on a SQLite connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def job(self, job_id: str) -> JobView | None:
        row = self._db.execute("SELECT * FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
        if row is None:
            return None
        found = self._db.execute("SELECT * FROM conversions WHERE job_id = ? ORDER BY seq", (job_id,)).fetchall()
        return _job(row, [_conversion(item) for item in found])

    def jobs(self, wanted: JobFilter) -> JobPage:
        clauses, values = _where(wanted)
        count = f"SELECT COUNT(*) FROM jobs WHERE {' AND '.join(clauses)}"  # noqa: S608
        total = self._db.execute(count, values).fetchone()[0]
        if wanted.before is not None:
            clauses, values = [*clauses, "seq < ?"], [*values, wanted.before]
        statement = f"SELECT * FROM jobs WHERE {' AND '.join(clauses)} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        rows = self._db.execute(statement, (*values, wanted.limit + 1)).fetchall()
        page = [_job(row, []) for row in rows[: wanted.limit]]
        return JobPage(jobs=page, total=total, next=_next(rows, wanted.limit))

    def conversion(self, conversion_id: str) -> ConversionView | None:
        row = self._db.execute("SELECT * FROM conversions WHERE conversion_id = ?", (conversion_id,)).fetchone()
        return _conversion(row) if row is not None else None

    def conversions(self, *, job_id: str | None, before: int | None, limit: int) -> ConversionPage:
        rows = self._db.execute(
            "SELECT * FROM conversions WHERE (?1 IS NULL OR job_id = ?1) AND (?2 IS NULL OR seq < ?2)"
            " ORDER BY seq DESC LIMIT ?3",
            (job_id, before, limit + 1),
        ).fetchall()
        return ConversionPage(conversions=[_conversion(row) for row in rows[:limit]], next=_next(rows, limit))

    def models(self) -> ModelPage:
        """The newest successful conversion of each model name."""
        rows = self._db.execute(
            "SELECT *, MAX(seq) FROM conversions WHERE state = 'succeeded' GROUP BY name ORDER BY name"
        ).fetchall()
        return ModelPage(models=[_model(row) for row in rows])


def _where(wanted: JobFilter) -> tuple[list[str], list[Any]]:
    clauses, values = ["1"], list[Any]()

    def add(clause: str, *items: Any) -> None:
        clauses.append(clause)
        values.extend(items)

    if wanted.states:
        add(f"state IN ({', '.join('?' * len(wanted.states))})", *(state.value for state in wanted.states))
    for column in ("framework", "owner", "project", "name"):
        value = getattr(wanted, column)
        if value is not None:
            add(f"{column} = ?", value)
    for key, value in wanted.labels.items():
        add("seq IN (SELECT seq FROM labels WHERE key = ? AND value = ?)", key, value)
    if wanted.since is not None:
        add("submitted_at >= ?", wanted.since)
    if wanted.until is not None:
        add("submitted_at < ?", wanted.until)
    return clauses, values


def _next(rows: list[sqlite3.Row], limit: int) -> str | None:
    return encode_cursor(rows[limit - 1]["seq"]) if len(rows) > limit else None


def _job(row: sqlite3.Row, conversions: list[ConversionView]) -> JobView:
    spec = loads(row["spec"])
    plain = {name: row[name] for name in row.keys() if name in JobView.model_fields}  # noqa: SIM118 - a Row iterates values
    decoded = {name: loads(row[name]) for name in ("resolution", "progress", "restarts", "result")}
    asked = {**sizes_of(spec), **(loads(row["resized"]) or {})}
    now = None if row["shape"] is None else loads(row["shape"]) or sizes_of(spec)
    return JobView.model_validate(
        {
            **plain,
            **decoded,
            "spec": spec,
            "labels": spec.get("labels", {}),
            "replicas": asked,
            "replicas_now": now or {},
            "conversions": conversions,
        }
    )


def _conversion(row: sqlite3.Row) -> ConversionView:
    plain = {name: row[name] for name in ConversionView.model_fields}
    return ConversionView.model_validate({**plain, "result": loads(row["result"])})


def _model(row: sqlite3.Row) -> ModelView:
    result = loads(row["result"]) or {}
    return ModelView(
        name=row["name"],
        conversion_id=row["conversion_id"],
        job_id=row["job_id"],
        created_at=row["ended_at"],
        onnx=result.get("onnx"),
        repository=result.get("repository"),
        report=result.get("report"),
    )
