"""How many cores this process really has: what a container's limit, the affinity and the job's own request leave it.

`os.cpu_count()` tells the machine's, and thread pools and loaders sized by it fight one another in a container.
Sources: cgroup v2 `cpu.max` and v1 `cpu.cfs_quota_us` (Linux documentation, "Control Group v2").
"""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def cpu_share(cgroup: Path = CGROUP) -> float:
    """Cores for this process, at least a fraction of one."""
    limits = [float(_affinity())]
    local = max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1") or 1))
    quota = _quota(cgroup)
    if quota is not None:
        limits.append(quota / local)  # the limit is the pod's, which all its processes share
    requested = os.environ.get("TRAINYARD_CPU")
    if requested:
        limits.append(float(requested))
    return max(0.1, min(limits))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota(cgroup: Path) -> float | None:
    """Cores that the cgroup allows; None where it sets no limit."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((cgroup / "cpu" / "cpu.cfs_quota_us").read_text())
        period_us = int((cgroup / "cpu" / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return quota_us / period_us if quota_us > 0 else None
