"""Ports of this machine for the ranks of an attempt: chosen together, remembered, never the same for two attempts.

Between choosing a port and a rank's listening on it seconds pass (a framework is imported first). So ports are taken below
the range from which the kernel gives ports to outgoing connections and to whoever asks for any (32768 on Linux, 49152 on
macOS): there nobody comes by chance.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from trainyard.common.errors import TrainyardError

RANGE = range(20_000, 32_000)


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
            first = random.randrange(len(RANGE))  # noqa: S311 - spreads attempts, keeps nothing secret
            candidates = itertools.chain(RANGE[first:], RANGE[:first])
            usable = (port for port in candidates if port not in taken and self._free(port))
            found = list(itertools.islice(usable, count))
            if len(found) < count:
                raise TrainyardError(f"{count} free ports between {RANGE.start} and {RANGE.stop} are not to be had")
            self._given[file] = found
            return found


def is_free(port: int) -> bool:
    """Whether it can be listened on, on every address."""
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
