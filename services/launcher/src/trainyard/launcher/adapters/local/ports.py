"""Ports for the ranks of an attempt: chosen together, remembered, never the same for two attempts.

Which ports are safe to choose is trainyard.common.loopback's knowledge.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from trainyard.common.errors import TrainyardError
from trainyard.common.loopback import PORTS, is_free


class Ports:
    """Safe to call from several threads."""

    def __init__(self, free: Callable[[int], bool] | None = None) -> None:
        self._free = free or is_free
        self._given: dict[Path, list[int]] = {}
        self._lock = threading.Lock()

    def of(self, file: Path, count: int) -> list[int]:
        """`count` ports for the attempt that keeps them in `file`: whoever writes them down first has chosen them, and
        they stay the same for everybody who asks again. Raises TrainyardError when the machine has no more."""
        if not file.exists():
            mine = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
            mine.write_text(json.dumps(self._choose(file, count)))
            with suppress(FileExistsError):
                os.link(mine, file)
            mine.unlink()
        return [int(port) for port in json.loads(file.read_text())]

    def forget(self, folder: Path) -> None:
        """The job whose folder this is has ended."""
        with self._lock:
            for file in [file for file in self._given if file.is_relative_to(folder)]:
                del self._given[file]

    def _choose(self, file: Path, count: int) -> list[int]:
        with self._lock:
            taken = {port for ports in self._given.values() for port in ports}
            first = random.randrange(len(PORTS))  # noqa: S311 - spreads attempts, keeps nothing secret
            candidates = itertools.chain(PORTS[first:], PORTS[:first])
            usable = (port for port in candidates if port not in taken and self._free(port))
            found = list(itertools.islice(usable, count))
            if len(found) < count:
                raise TrainyardError(f"{count} free ports between {PORTS.start} and {PORTS.stop} are not to be had")
            self._given[file] = found
            return found
