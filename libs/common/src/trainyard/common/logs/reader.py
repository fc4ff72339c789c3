"""Reads logs of ranks: a range from an offset, the last lines, and on while they grow.

An offset is the cursor: what was read up to it is never given again, and what rotation has dropped since is told as a
gap rather than passed over in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.logs.layout import rank_folder, segments

CHUNK = 256 * 1024
BLOCK = 64 * 1024
MAX_LINE = 2**20
"""A line that goes on for longer is given in pieces."""


@dataclass(frozen=True, slots=True)
class Line:
    stream: str
    time: str
    text: str
    end: int
    """The offset behind it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    lines: tuple[Line, ...]
    next: int
    """Where to go on."""
    missing: int = 0
    """Bytes before the first line that rotation has dropped."""


class LogStore:
    """The logs under one root."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def attempts(self, job_id: str) -> list[int]:
        return _numbers(self._root / job_id)

    def ranks(self, job_id: str, attempt: int) -> list[int]:
        return _numbers(self._root / job_id / str(attempt))

    def read(self, job_id: str, attempt: int, rank: int, offset: int = 0, limit: int = CHUNK) -> Chunk:
        """Whole lines from `offset` on, about `limit` bytes of them; empty at the present end."""
        found = segments(rank_folder(self._root, job_id, attempt, rank))
        if not found or offset > _end(found):
            return Chunk((), offset)
        missing = max(0, found[0][0] - offset)
        offset += missing
        data = _bytes(found, offset, limit)
        if b"\n" not in data and len(data) >= limit:  # a single line of more than the limit
            limit *= 8
            data = _bytes(found, offset, limit)
        end = data.rfind(b"\n") + 1
        lines, behind = _lines(data[:end], offset, more=len(data) >= limit)
        return Chunk(lines, behind, missing)

    def tail(self, job_id: str, attempt: int, rank: int, count: int) -> int:
        """The offset from which `count` lines are left (fewer where there are fewer); a part of a long line counts as one."""
        found = segments(rank_folder(self._root, job_id, attempt, rank))
        if not found:
            return 0
        end = _end(found)
        if count == 0:
            return end
        offset = end
        for start, path in reversed(found):
            for newline in _newlines_backwards(path):
                behind = start + newline + 1
                if behind < end:
                    count -= 1
                    if count == 0:
                        return behind
            offset = start
        return offset

    def last_lines(self, job_id: str, attempt: int, rank: int, count: int) -> tuple[str, ...]:
        """The texts of the last lines that there are now."""
        end = self.tail(job_id, attempt, rank, 0)
        offset = self.tail(job_id, attempt, rank, count)
        texts: list[str] = []
        while offset < end:
            chunk = self.read(job_id, attempt, rank, offset)
            if chunk.next == offset:
                break
            offset = chunk.next
            texts = [*texts, *(line.text for line in chunk.lines)][-count:]
        return tuple(texts)


def _numbers(folder: Path) -> list[int]:
    try:
        return sorted(int(item.name) for item in folder.iterdir() if item.name.isdecimal())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _end(found: list[tuple[int, Path]]) -> int:
    start, newest = found[-1]
    return start + newest.stat().st_size


def _bytes(found: list[tuple[int, Path]], offset: int, limit: int) -> bytes:
    """`limit` bytes from a logical offset, across segments."""
    data = b""
    for index, (start, path) in enumerate(found):
        following = found[index + 1][0] if index + 1 < len(found) else None
        if following is not None and following <= offset:
            continue
        try:
            with path.open("rb") as file:
                file.seek(max(0, offset - start))
                data += file.read(limit - len(data))
        except FileNotFoundError:  # dropped a moment ago; the next read tells the gap
            break
        if len(data) >= limit:
            break
        offset = following if following is not None else offset
    return data


def _newlines_backwards(path: Path) -> Iterator[int]:
    """Where the newlines of a file are, last first; nothing when the file was dropped meanwhile."""
    try:
        with path.open("rb") as file:
            at = file.seek(0, os.SEEK_END)
            while at > 0:
                size = min(BLOCK, at)
                at -= size
                file.seek(at)
                block = file.read(size)
                newline = len(block)
                while (newline := block.rfind(b"\n", 0, newline)) >= 0:
                    yield at + newline
    except FileNotFoundError:
        return


def _lines(data: bytes, offset: int, *, more: bool) -> tuple[tuple[Line, ...], int]:
    """The lines of `data` and the offset behind them. `more`: the log goes on, so a line whose end is not here yet is
    left for the next read; otherwise what there is of it is given."""
    lines: list[tuple[int, Line]] = []  # with the offset of their first part
    parts: dict[str, tuple[int, str]] = {}
    end = offset
    for raw in data.split(b"\n")[:-1]:
        begin, end = end, end + len(raw) + 1
        stamp, _, rest = raw.partition(b" ")
        stream, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        name = stream.decode(errors="replace")
        begin, before = parts.pop(name, (begin, ""))
        joined = before + text.decode(errors="replace")
        if tag == b"P" and len(joined) < MAX_LINE:
            parts[name] = (begin, joined)
        else:
            lines.append((begin, Line(name, stamp.decode(errors="replace"), joined, end)))
    if more and parts and (cut := _cut(lines, min(begin for begin, _ in parts.values()))) > offset:
        return tuple(line for _, line in lines if line.end <= cut), cut
    open_ended = [Line(name, "", text, end) for name, (_, text) in parts.items()]
    return (*(line for _, line in lines), *open_ended), end


def _cut(lines: list[tuple[int, Line]], cut: int) -> int:
    """The last offset up to `cut` that tears no line: lines of the two streams may overlap."""
    for begin, line in reversed(lines):
        if begin < cut < line.end:
            cut = begin
    return cut
