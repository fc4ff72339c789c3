"""How a rank ended, as its exit record says it (see `record`)."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

EVICTED = "its supervisor was asked to end by somebody else (is this machine being shut down?)"
_LONGEST = 1000  # characters of a message


def not_started(plan: dict[str, Any], error: OSError, now: float) -> dict[str, Any]:
    return {"reason": "start", "message": _why_not(plan, error)[:_LONGEST], "ended": now}


def never_began(wish: dict[str, Any], now: float) -> dict[str, Any]:
    """It was to be stopped before it was there."""
    return {"stopped": True, "why": wish.get("why"), "ended": now}


def ended(status: int, usage: Any, wish: dict[str, Any] | None, *, killed: bool, oom_kills: int) -> dict[str, Any]:
    """From what wait4(2) gave. `wish`: what it was stopped for; `killed`: the grace was over; `oom_kills`: how many
    processes of our group the kernel killed for memory while it ran."""
    record: dict[str, Any] = {
        "max_rss": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "killed": killed,
        "stopped": wish is not None and "evicted" not in wish,
        "why": (wish or {}).get("why"),
    }
    if os.WIFSIGNALED(status):
        record["signal"] = os.WTERMSIG(status)
    else:
        record["exit_code"] = os.WEXITSTATUS(status)
    if wish is not None and "evicted" in wish:
        record |= {"reason": "evicted", "message": EVICTED}
    # The count is of the whole group, so it is believed only of a rank that was killed as the kernel kills.
    elif record.get("signal") == signal.SIGKILL and not killed and oom_kills > 0:
        record["reason"] = "oom"
    return record


def oom_kills() -> int:
    """How many processes of our cgroup the kernel has killed for memory so far; 0 where that is not told (cgroup v1)."""
    try:
        group = Path("/proc/self/cgroup").read_text().strip().split("::")[-1].strip("/")
        events = (Path("/sys/fs/cgroup") / group / "memory.events").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in events.splitlines() if line.startswith("oom_kill ")), 0)


def _why_not(plan: dict[str, Any], error: OSError) -> str:
    program = plan["command"][0]
    if not Path(plan["cwd"]).is_dir():
        return f"the working folder {plan['cwd']} is not there"
    if error.errno == errno.ENOENT and "/" not in program:
        return f"{program} cannot be started: there is no such program on the job's PATH"
    if error.errno == errno.ENOENT and Path(plan["cwd"], program).exists():
        return f"{program} cannot be started: the interpreter that its first line names is not there"
    return f"{program} cannot be started: {error.strerror or error}"
