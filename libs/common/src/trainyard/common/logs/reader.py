"""Reads logs of ranks: a range from an offset, the last lines, and on while they grow.

An offset is the cursor: what was read up to it is never given again, and what rotation has dropped since is told as a
gap rather than passed over in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainyard.common.logs.layout import rank_folder, segments

CHUNK = 256 * 1024
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
        if not found:
            return Chunk((), offset)
        missing = max(0, found[0][0] - offset)
        offset += missing
        data = _bytes(found, offset, limit)
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) >= limit:  # a single line of more than the limit
            data = _bytes(found, offset, limit * 8)
            end = data.rfind(b"\n") + 1
        return Chunk(_lines(data[:end], offset), offset + end, missing)

    def tail(self, job_id: str, attempt: int, rank: int, count: int) -> int:
        """The offset from which `count` lines are left (fewer where there are fewer)."""
        found = segments(rank_folder(self._root, job_id, attempt, rank))
        if not found:
            return 0
        end = found[-1][0] + found[-1][1].stat().st_size
        if count == 0:
            return end
        offset = end
        for start, path in reversed(found):
            data = path.read_bytes()
            for at in range(len(data) - 1, -1, -1):
                if data[at : at + 1] == b"\n" and start + at + 1 < end:
                    count -= 1
                    if count == 0:
                        return start + at + 1
            offset = start
        return offset

    def last_lines(self, job_id: str, attempt: int, rank: int, count: int) -> tuple[str, ...]:
        """The texts of the last lines."""
        chunk = self.read(job_id, attempt, rank, self.tail(job_id, attempt, rank, count))
        return tuple(line.text for line in chunk.lines[-count:])


def _numbers(folder: Path) -> list[int]:
    try:
        return sorted(int(item.name) for item in folder.iterdir() if item.name.isdigit())
    except (FileNotFoundError, NotADirectoryError):
        return []


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


def _lines(data: bytes, offset: int) -> tuple[Line, ...]:
    lines: list[Line] = []
    open_parts: dict[str, str] = {}
    for raw in data.split(b"\n")[:-1]:
        offset += len(raw) + 1
        stamp, _, rest = raw.partition(b" ")
        stream, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        name = stream.decode(errors="replace")
        joined = open_parts.pop(name, "") + text.decode(errors="replace")
        if tag == b"P" and len(joined) < MAX_LINE:
            open_parts[name] = joined
        else:
            lines.append(Line(name, stamp.decode(errors="replace"), joined, offset))
    lines += [Line(name, "", text, offset) for name, text in open_parts.items()]
    return tuple(lines)
