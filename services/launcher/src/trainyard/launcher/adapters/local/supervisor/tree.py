"""Ending a process with everything that it has started.

A session is not enough: a descendant may have made one of its own. On Linux the supervisor is the subreaper of its
descendants, so whatever loses its parent becomes its child and is found; elsewhere the process group is what we have.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def become_subreaper() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """In the child, before exec: a supervisor that is killed takes its rank along, so nothing runs unwatched."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def descendants(root: int) -> list[int]:
    """Process ids below `root`, parents first. Empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    try:
        entries = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return []
    for entry in entries:
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry))
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def send(number: signal.Signals, group: int, root: int | None) -> None:
    """To the process group and, where they can be found, to all descendants of `root`."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in descendants(root) if root is not None else []:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
