"""Lines of a container's log with their times, and which of them were seen before. Pure.

The API gives whole seconds to start from, so the lines of the last second come again. Times have nanoseconds and never go
back within a container, so a line is known by its time and by how many lines of the very same time stand before it.
"""

from __future__ import annotations

from dataclasses import dataclass

REPORT = b"\x1etrainyard "
"""Before a report that the runner sends among the lines of its processes."""


@dataclass(frozen=True, slots=True)
class Mark:
    time: str
    """RFC 3339 with nanoseconds, UTC."""
    text: bytes


def cut(line: bytes) -> Mark | None:
    """`2026-12-01T10:00:00.123456789Z text`; None for what has no time (half a line, a message of the kubelet)."""
    time, _, text = line.rstrip(b"\n").partition(b" ")
    if len(time) < 20 or time[4:5] != b"-" or time[10:11] != b"T" or not time.endswith(b"Z"):
        return None
    whole, _, fraction = time[:-1].decode(errors="replace").partition(".")
    return Mark(f"{whole}.{fraction:0<9}Z", text)


def report(text: bytes) -> bytes | None:
    """The document of a report; None for a line of the job."""
    return text.removeprefix(REPORT) if text.startswith(REPORT) else None


@dataclass(slots=True)
class Cursor:
    """How far a log is stored."""

    last: str = ""
    """The time of the last line; empty: nothing yet."""
    at_last: int = 0
    """Lines of that time."""
    count: int = 0
    """Lines taken since the cursor was made."""
    _again: int = 0

    @property
    def since(self) -> str:
        """Where the API is asked to begin: the whole second."""
        return f"{self.last[:19]}Z" if self.last else ""

    def begin(self) -> None:
        """The log is read anew from `since`."""
        self._again = self.at_last

    def take(self, mark: Mark) -> bool:
        """Whether the line is new."""
        if mark.time < self.last:
            return False
        if mark.time == self.last and self._again:
            self._again -= 1
            return False
        self.at_last = self.at_last + 1 if mark.time == self.last else 1
        self.last = mark.time
        self._again = 0
        self.count += 1
        return True
