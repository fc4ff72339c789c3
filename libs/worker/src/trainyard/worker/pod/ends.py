"""How the processes of a pod ended, and how that is told: in the container's termination message, of 4096 bytes at most."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG = "/dev/termination-log"
MAX_BYTES = 4096
"""The kubelet cuts what is longer, and half a document tells nothing."""
_EVENTS = (("/sys/fs/cgroup/memory.events", "oom_kill"), ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill"))


@dataclass(frozen=True)
class End:
    rank: int
    code: int | None
    """None where a signal ended it."""
    signal: int | None
    oom: bool = False
    rss: int = 0
    """Bytes at its most."""
    cpu: float = 0.0
    """Seconds, user and system."""

    @property
    def exit_code(self) -> int:
        """As a shell tells it."""
        return 128 + self.signal if self.signal else self.code or 0


def of(rank: int, status: int, usage: Any, oom: bool) -> End:
    """From what wait4 gives."""
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    return End(rank, code, signal, oom, usage.ru_maxrss * 1024, round(usage.ru_utime + usage.ru_stime, 2))


def message(ends: list[End], first: End | None) -> bytes:
    """As many as fit: the one that failed first, others that failed, the rest by rank."""
    known = sorted(ends, key=lambda end: (end is not first, end.exit_code == 0, end.rank))
    told: list[bytes] = []
    room = MAX_BYTES - len(b'{"ranks":[]}')
    for end in known:
        item = json.dumps(end.__dict__, separators=(",", ":")).encode()
        if len(item) + 1 > room:
            break
        told.append(item)
        room -= len(item) + 1
    return b'{"ranks":[' + b",".join(told) + b"]}"


def write(text: bytes, path: str) -> str | None:
    """None, or why it cannot be written."""
    try:
        Path(path).write_bytes(text)
    except OSError as error:
        return f"how the ranks ended cannot be told: {error}"
    return None


def oom_kills() -> int:
    """Processes of this container that the kernel has killed for memory so far; 0 where that is not told."""
    for path, name in _EVENTS:
        try:
            words = Path(path).read_text().split()
        except OSError:
            continue
        if name in words[:-1]:
            return int(words[words.index(name) + 1])
    return 0
