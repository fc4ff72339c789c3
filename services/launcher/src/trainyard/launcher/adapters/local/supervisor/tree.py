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

SUBREAPER = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ROUNDS = 10


def become_subreaper() -> None:
    if SUBREAPER:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """In the child, before exec: a supervisor that is killed takes its rank along, so nothing runs unwatched."""
    if SUBREAPER:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before we had asked
            os._exit(1)


def terminate(group: int, root: int) -> None:
    """SIGTERM once to each: the group, and what below `root` has left it. Twice would mean "at once" to many programs."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
    for pid, its_group in _descendants(root):
        if its_group != group:
            _signal(pid, signal.SIGTERM)


def kill(group: int | None, root: int) -> None:
    """SIGKILL to everything below `root`, also to what is forked meanwhile; and to `group`, while it is surely ours."""
    for _ in range(_ROUNDS):
        if group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        found = _descendants(root)
        for pid, _ in found:
            _signal(pid, signal.SIGKILL)
        if not found:
            return


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _descendants(root: int) -> list[tuple[int, int]]:
    """Process and group ids below `root`, parents first, without zombies. Empty where there is no /proc."""
    children: dict[int, list[tuple[int, int]]] = {}
    try:
        entries = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return []
    for entry in entries:
        try:
            state, parent, group = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[:3]
        except (OSError, IndexError, ValueError):
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append((int(entry), int(group)))
    found: list[tuple[int, int]] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += [pid for pid, _ in below]
    return found
