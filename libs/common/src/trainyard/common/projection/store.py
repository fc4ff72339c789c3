"""A SQLite file that holds a projection and its cursor, and moves both in one transaction.

Because the cursor (the last stream sequence that was applied) commits together with what the events changed, a
projection is exact through any crash: an event is applied once or not at all. The file belongs to one process; readers
may open it read-only beside the writer (write-ahead log).

Two things make the file be thrown away and built again from the log: another schema than the code's, and another log
than the one it followed (a state folder whose nats-server store was deleted).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self


class Store:
    """One writer's connection. Not for use from two threads at once."""

    def __init__(self, path: Path, schema: str, log_id: str) -> None:
        """`schema` is the DDL of the projection; `log_id` names the log (see EventLog.identity)."""
        self.path = path
        self._stamp = hashlib.sha256(f"{schema}\0{log_id}".encode()).hexdigest()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = self._open()
        try:
            current = self._is_current()
        except sqlite3.DatabaseError:  # not a database, or a torn one
            current = False
        if not current:
            self.db.close()
            self._delete()
            self.db = self._open()
            self._create(schema)

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        db.row_factory = sqlite3.Row
        return db

    def _pragmas(self) -> None:
        self.db.execute("PRAGMA journal_mode = WAL")
        # The log is the truth: losing the newest transactions in a power cut costs a re-read, nothing else.
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("PRAGMA foreign_keys = ON")

    def _is_current(self) -> bool:
        self._pragmas()
        found = self.db.execute("SELECT name FROM sqlite_master WHERE name = 'projection'").fetchone()
        if found is None:
            return False
        row = self.db.execute("SELECT stamp FROM projection").fetchone()
        return row is not None and row["stamp"] == self._stamp

    def _create(self, schema: str) -> None:
        self._pragmas()
        with self.transaction():
            for statement in schema.split(";"):
                if statement.strip():
                    self.db.execute(statement)
            self.db.execute("CREATE TABLE projection (stamp TEXT NOT NULL, cursor INTEGER NOT NULL)")
            self.db.execute("INSERT INTO projection VALUES (?, 0)", (self._stamp,))

    def _delete(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    @property
    def cursor(self) -> int:
        """The last stream sequence that this projection has seen; 0 when it is new."""
        return int(self.db.execute("SELECT cursor FROM projection").fetchone()["cursor"])

    def advance(self, cursor: int) -> None:
        """Inside a transaction: everything up to `cursor` is applied."""
        self.db.execute("UPDATE projection SET cursor = ?", (cursor,))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection beside the writer; for one thread at a time."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    return db
