"""What a pod asks for: its processes together. Requests and limits are kept apart, as the job file has them.

An accelerator is both at once, since Kubernetes shares none. Only pods of the job itself ever ask for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainyard.common.contract.jobs import Role
from trainyard.common.contract.kubernetes import Kubernetes
from trainyard.launcher.core.job import Job


@dataclass(frozen=True, slots=True)
class Requirements:
    cpu: float
    """Cores."""
    memory: int
    """Bytes."""
    cpu_limit: float | None = None
    memory_limit: int | None = None
    accelerators: Mapping[str, int] = field(default_factory=dict)

    def manifest(self, wants: Kubernetes) -> dict[str, Any]:
        whole = {**self.accelerators, **wants.resources}
        extended = {name: str(count) for name, count in sorted(whole.items())}
        limits = {
            **({"cpu": cpu(self.cpu_limit)} if self.cpu_limit is not None else {}),
            **({"memory": str(self.memory_limit)} if self.memory_limit is not None else {}),
            **extended,
        }
        requests = {"cpu": cpu(self.cpu), "memory": str(self.memory), **extended}
        return {"requests": requests, **({"limits": limits} if limits else {})}


def requirements(job: Job, role: Role) -> Requirements:
    """Of one pod."""
    count, each = role.processes, role.resources
    resources = job.resolution.resources if job.resolution is not None else {}
    asked = each.accelerators.count > 0
    return Requirements(
        cpu=each.cpu * count,
        memory=each.memory * count,
        cpu_limit=role.limits.cpu * count if role.limits.cpu is not None else None,
        memory_limit=role.limits.memory * count if role.limits.memory is not None else None,
        accelerators={name: math.ceil(amount * count) for name, amount in resources.items()} if asked else {},
    )


def cpu(cores: float) -> str:
    """`2`, `1500m`; rounded up to what Kubernetes can count."""
    milli = math.ceil(round(cores * 1000, 6))
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"
