"""What the runner says on stdout: the lines of its processes, each whole, and between them their progress reports.

The launcher reads both from the container's log. A report is a line with a mark that no text begins with.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import threading
from typing import Any, BinaryIO

REPORT = b"\x1etrainyard "
MAX_LINE = 16 * 1024  # bytes; the container runtime cuts longer lines as well
MAX_READ = 2**20  # bytes of reports in one look
MAX_METRICS = 64
_COUNTERS = ("epoch", "epochs", "step", "steps")


class Voice:
    """Stdout, one whole line at a time, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._out = sys.stdout.buffer

    def line(self, text: bytes) -> None:
        with self._lock:
            try:
                self._out.write(text + b"\n")
                self._out.flush()
            except OSError:  # nobody reads any more; the job is worth more than its log
                pass

    def say(self, text: str, mark: bytes = b"") -> None:
        self.line(mark + b"trainyard: " + text.encode(errors="replace"))


def relay(source: BinaryIO, mark: bytes, voice: Voice) -> None:
    """The lines of a process until it and all that it started have closed them."""
    with source:
        while True:
            text = source.readline(MAX_LINE)
            if not text:
                return
            voice.line(mark + text.rstrip(b"\n"))


class Reports:
    """The report file of one rank: what is new in it, as the launcher understands it."""

    def __init__(self, path: str, rank: int) -> None:
        self._path, self._rank = path, rank
        self._offset = self._number = 0

    def newest(self) -> bytes | None:
        """The last report since the one before, marked; earlier ones are history already. None: there is none."""
        found = None
        for line in self._lines():
            self._number += 1
            document = _document(line)
            if document is not None:
                found = {"number": self._number, "rank": self._rank, **document}
        return None if found is None else REPORT + json.dumps(found, allow_nan=False).encode()

    def _lines(self) -> list[bytes]:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would hold us
        except OSError:
            return []
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return []
            data = os.pread(descriptor, MAX_READ, self._offset)
        finally:
            os.close(descriptor)
        lines = data.split(b"\n")
        if len(lines) == 1 and len(data) == MAX_READ:  # no report of ours; what comes behind it may be one
            self._offset += len(data)
        self._offset += sum(len(line) + 1 for line in lines[:-1])
        return lines[:-1]


def _document(line: bytes) -> dict[str, Any] | None:
    """User code wrote this: whatever does not fit is dropped, never raised."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    metrics = document.get("metrics")
    usable = list(metrics.items())[:MAX_METRICS] if isinstance(metrics, dict) else []
    return {
        "time": _number(document.get("time")) or 0.0,
        **{name: None if (value := _number(document.get(name))) is None else int(value) for name in _COUNTERS},
        "metrics": {name[:64]: _number(value) for name, value in usable},
    }


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None
