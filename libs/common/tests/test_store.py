"""A projection's file: its cursor and its rows move together, and a file that does not fit is made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.projection.store import Store, open_reader

SCHEMA = "CREATE TABLE items (name TEXT); CREATE INDEX by_name ON items (name)"


def rows(store: Store) -> list[str]:
    return [row["name"] for row in store.db.execute("SELECT name FROM items ORDER BY name")]


def fail_half_way(store: Store) -> None:
    with store.transaction() as db:
        db.execute("INSERT INTO items VALUES ('b')")
        store.advance(9)
        raise RuntimeError


def test_rows_and_cursor_are_one(tmp_path: Path) -> None:
    with Store(tmp_path / "p.sqlite", SCHEMA, "log") as store:
        with store.transaction() as db:
            db.execute("INSERT INTO items VALUES ('a')")
            store.advance(7)
        with pytest.raises(RuntimeError):
            fail_half_way(store)
        assert (rows(store), store.cursor) == (["a"], 7)
    with Store(tmp_path / "p.sqlite", SCHEMA, "log") as again:
        assert (rows(again), again.cursor) == (["a"], 7)
        reader = open_reader(again.path)
        assert reader.execute("SELECT COUNT(*) FROM items").fetchone()[0] == 1
        reader.close()


@pytest.mark.parametrize(
    ("schema", "log"), [(SCHEMA.replace("name TEXT", "name TEXT, size INTEGER"), "log"), (SCHEMA, "another log")]
)
def test_another_schema_or_another_log_begins_anew(tmp_path: Path, schema: str, log: str) -> None:
    with Store(tmp_path / "p.sqlite", SCHEMA, "log") as store, store.transaction():
        store.advance(7)
    with Store(tmp_path / "p.sqlite", schema, log) as other:
        assert (other.cursor, rows(other)) == (0, [])


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 500])
def test_a_torn_file_begins_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.sqlite").write_bytes(content)
    with Store(tmp_path / "p.sqlite", SCHEMA, "log") as store:
        assert store.cursor == 0
