"""Progress reports of ranks: JSON lines that trainyard.worker appends and the launcher reads as they come.

A report's number is that of its line, so whoever reads the file again after a restart counts the same, and the event
made of a report has the same id.

The file is the job's, so nothing about it is believed: neither that it is a file, nor what stands in it. A job must not be
able to hold the launcher, with which all others would stand still, nor to keep its own end from being told.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trainyard.launcher.adapters.reported import parse
from trainyard.launcher.ports import Report

MAX_READ = 2**20  # bytes at once
MAX_READS = 64  # in one look; the rest comes with the next
_NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENXIO})


@dataclass(slots=True)
class _Position:
    offset: int = 0
    lines: int = 0


class ReportReader:
    """Remembers how far each file was read; forgetting that costs a second reading, nothing else."""

    def __init__(self) -> None:
        self._positions: dict[Path, _Position] = {}

    def read(self, file: Path, rank: int, after: int) -> list[Report]:
        """The reports of a file behind number `after`. Lines that are not reports are counted and passed over."""
        position = self._positions.setdefault(file, _Position())
        if position.lines > after:
            position.offset, position.lines = 0, 0
        found: list[Report] = []
        with _opened(file) as reports:
            if reports is None:
                return found
            reports.seek(position.offset)
            for _ in range(MAX_READS):
                data = reports.read(MAX_READ)
                found += self._take(position, data, rank, after)
                if len(data) < MAX_READ:
                    break
                reports.seek(position.offset)
        return found

    def _take(self, position: _Position, data: bytes, rank: int, after: int) -> list[Report]:
        if b"\n" not in data and len(data) == MAX_READ:  # no report of ours; what comes behind it may be one
            position.offset += len(data)
        found = []
        for line in data.split(b"\n")[:-1]:
            position.offset += len(line) + 1
            position.lines += 1
            if position.lines > after and (report := parse(line, position.lines, rank)) is not None:
                found.append(report)
        return found

    def forget(self, folder: Path) -> None:
        for file in [item for item in self._positions if item.is_relative_to(folder)]:
            del self._positions[file]


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO | None]:
    """None where there is no regular file: opening a pipe would wait for whoever writes to it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        yield None
        return
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        with os.fdopen(descriptor, "rb") as reports:
            yield reports
    else:
        os.close(descriptor)
        yield None
