"""Writes the log of one rank. Standard library only. A full disk loses lines, which are counted, never the job."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from trainyard.common.logs.layout import KEEP_SEGMENTS, MAX_PART, SEGMENT_BYTES, segment_name, segments


class LogWriter:
    """Feed it what comes out of the pipes with `feed`; `close` writes what has no newline yet."""

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, keep: int = KEEP_SEGMENTS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._limit = segment_bytes
        self._keep = keep
        existing = segments(folder)
        self._start = existing[-1][0] if existing else 0
        self._file = (folder / segment_name(self._start)).open("ab", buffering=0)
        self._size = self._file.tell()
        self._pending: dict[str, bytes] = {}
        self.lost = 0
        """Bytes that could not be written."""

    def feed(self, stream: str, data: bytes) -> None:
        """`data` as it came: any number of lines and parts of lines."""
        data = self._pending.pop(stream, b"") + data
        *lines, rest = data.split(b"\n")
        stamp = _now()
        out: list[bytes] = []
        for line in lines:
            out += _formatted(stamp, stream, line)
        while len(rest) > MAX_PART:
            out.append(b"%s %s P %s\n" % (stamp, stream.encode(), rest[:MAX_PART]))
            rest = rest[MAX_PART:]
        if rest:
            self._pending[stream] = rest
        if out:
            self._write(b"".join(out))

    def line(self, time: str, stream: str, text: bytes) -> None:
        """A whole line that was said at a known time (RFC 3339 with nanoseconds)."""
        self._write(b"".join(_formatted(time.encode(), stream, text)))

    def close(self) -> None:
        for stream, rest in self._pending.items():
            self._write(b"".join(_formatted(_now(), stream, rest)))
        self._pending.clear()
        self._file.close()

    def _write(self, data: bytes) -> None:
        written = 0
        try:
            if self._size + len(data) > self._limit and self._size:
                self._turn()
            while written < len(data):
                written += os.write(self._file.fileno(), data[written:])
            self._size += written
        except OSError:
            # Whole lines stay, since a reader may have them already; the torn one goes, or the next would be glued to it.
            kept = data.rfind(b"\n", 0, written) + 1
            self._size += kept
            self.lost += len(data) - kept
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._size)

    def _turn(self) -> None:
        start = self._start + self._size
        following = (self._folder / segment_name(start)).open("ab", buffering=0)  # may fail: the old one goes on then
        self._file.close()
        self._file, self._start, self._size = following, start, 0
        for _, path in segments(self._folder)[: -self._keep]:
            path.unlink(missing_ok=True)


def _formatted(stamp: bytes, stream: str, line: bytes) -> list[bytes]:
    parts = [line[at : at + MAX_PART] for at in range(0, len(line), MAX_PART)] or [b""]
    tags = [b"P"] * (len(parts) - 1) + [b"F"]
    return [b"%s %s %s %s\n" % (stamp, stream.encode(), tag, part) for tag, part in zip(tags, parts, strict=True)]


def _now() -> bytes:
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 10**9)
    return (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z").encode()
