"""Logs of ranks: whatever a process writes comes out line by line, through rotation, without gap or double."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainyard.common.logs.layout import MAX_PART, rank_folder
from trainyard.common.logs.reader import Line, LogStore
from trainyard.common.logs.writer import LogWriter


def writer(root: Path, **options: int) -> LogWriter:
    return LogWriter(rank_folder(root, "j", 1, 0), **options)


def everything(store: LogStore, offset: int = 0, limit: int = 4096) -> list[Line]:
    lines: list[Line] = []
    while chunk := store.read("j", 1, 0, offset, limit):
        if not chunk.lines:
            return lines
        lines += chunk.lines
        offset = chunk.next
    return lines


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=200)), max_size=30))
def test_what_goes_in_comes_out_however_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("logs")
    log = writer(root, segment_bytes=500, keep=1000)
    for stream, data in pieces:
        log.feed(stream, data)
    log.close()
    read = everything(LogStore(root))
    for stream in ("stdout", "stderr"):
        whole = b"".join(data for name, data in pieces if name == stream)
        wanted = [line.decode(errors="replace") for line in whole.split(b"\n")]
        assert [line.text for line in read if line.stream == stream] == (wanted[:-1] if wanted[-1] == "" else wanted)


def test_a_cursor_stays_right_while_the_log_grows_and_turns(tmp_path: Path) -> None:
    log, store = writer(tmp_path, segment_bytes=300, keep=100), LogStore(tmp_path)
    seen: list[str] = []
    offset = 0
    for number in range(200):
        log.feed("stdout", f"line {number}\n".encode())
        if number % 7 == 0:
            chunk = store.read("j", 1, 0, offset)
            seen += [line.text for line in chunk.lines]
            offset = chunk.next
    log.close()
    seen += [line.text for line in everything(store, offset)]
    assert seen == [f"line {number}" for number in range(200)]


def test_dropped_segments_are_told(tmp_path: Path) -> None:
    log, store = writer(tmp_path, segment_bytes=300, keep=2), LogStore(tmp_path)
    for number in range(100):
        log.feed("stdout", f"line {number}\n".encode())
    log.close()
    chunk = store.read("j", 1, 0, 0)
    assert chunk.missing > 0
    assert chunk.lines[-1].text == "line 99"


def test_long_lines_are_stored_in_parts_and_read_whole(tmp_path: Path) -> None:
    log = writer(tmp_path)
    log.feed("stdout", b"x" * (3 * MAX_PART + 5) + b"\nshort\n")
    log.feed("stderr", b"no newline at the end")
    log.close()
    lines = everything(LogStore(tmp_path), limit=2**20)
    assert [(len(line.text), line.text[-5:]) for line in lines] == [
        (3 * MAX_PART + 5, "xxxxx"), (5, "short"), (21, "e end")
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "first"), [(1, "line 49"), (10, "line 40"), (50, "line 0"), (500, "line 0")])
def test_the_last_lines(tmp_path: Path, count: int, first: str) -> None:
    log, store = writer(tmp_path, segment_bytes=300, keep=100), LogStore(tmp_path)
    for number in range(50):
        log.feed("stdout", f"line {number}\n".encode())
    log.close()
    assert store.last_lines("j", 1, 0, count)[0] == first
    assert everything(store, store.tail("j", 1, 0, 0)) == []


def test_a_full_disk_loses_lines_and_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = writer(tmp_path)

    def full(_: int, __: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("trainyard.common.logs.writer.os.write", full)
        log.feed("stdout", b"lost\n")
    log.feed("stdout", b"kept\n")
    log.close()
    assert log.lost > 0
    assert [line.text for line in everything(LogStore(tmp_path))] == ["kept"]


def test_what_a_full_disk_tears_is_taken_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills in the middle of a write: whole lines stay, and the next line begins on a line of its own."""
    log, store = writer(tmp_path), LogStore(tmp_path)
    room = 60
    real = os.write

    def filling(descriptor: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, data[:room])
        room -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr("trainyard.common.logs.writer.os.write", filling)
        log.feed("stdout", b"first\nsecond\n")
    seen = store.read("j", 1, 0)
    log.feed("stdout", b"third\n")
    log.close()
    assert [line.text for line in seen.lines] == ["first"]
    assert [line.text for line in everything(store, seen.next)] == ["third"]
    assert log.lost > 0


def test_a_segment_that_cannot_be_made_leaves_the_old_one_in_use(tmp_path: Path) -> None:
    log = writer(tmp_path, segment_bytes=100)
    log.feed("stdout", b"x" * 80 + b"\n")
    folder = rank_folder(tmp_path, "j", 1, 0)
    blocked = folder / f"{sum(file.stat().st_size for file in folder.iterdir()):020d}.log"
    blocked.mkdir()  # the next segment's name is taken by something that is no file
    log.feed("stdout", b"lost\n")
    blocked.rmdir()
    log.feed("stdout", b"kept\n")
    log.close()
    assert [line.text for line in everything(LogStore(tmp_path))] == ["x" * 80, "kept"]
    assert log.lost > 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.sampled_from([3, MAX_PART, 40_000])), max_size=12),
    st.integers(MAX_PART + 100, 150_000),
)
def test_a_long_line_is_not_torn_between_two_reads(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, int]], limit: int
) -> None:
    root = tmp_path_factory.mktemp("logs")
    log = writer(root)
    for stream, size in pieces:
        log.feed(stream, b"y" * (size - 1))  # the newline comes later: lines of the two streams overlap
        log.feed("stdout" if stream == "stderr" else "stderr", b"between\n")
        log.feed(stream, b"z\n")
    log.close()
    read = everything(LogStore(root), limit=limit)
    whole = [len(line.text) for line in read if line.text.endswith("z")]
    assert sum(len(line.text) for line in read if line.text != "between") == sum(size for _, size in pieces)
    if limit > 100_000:  # room for the longest overlap
        assert sorted(whole) == sorted(size for _, size in pieces)


def test_the_last_lines_are_the_last_however_long_they_are(tmp_path: Path) -> None:
    log = writer(tmp_path)
    for number in range(60):
        log.feed("stdout", b"%d" % number + b"." * 15_000 + b"\n")
    log.close()
    last = LogStore(tmp_path).last_lines("j", 1, 0, 30)
    assert [text.rstrip(".") for text in last] == [str(number) for number in range(30, 60)]


def test_bytes_that_are_no_text_come_out_as_text(tmp_path: Path) -> None:
    log = writer(tmp_path)
    log.feed("stdout", b"\xff\xfe\x00caf\xc3\xa9\r\n")
    log.close()
    assert everything(LogStore(tmp_path))[0].text == "\ufffd\ufffd\x00caf\xe9\r"


def test_nothing_there_is_nothing_read(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    assert (store.attempts("j"), store.ranks("j", 1), store.read("j", 1, 0).lines) == ([], [], ())
