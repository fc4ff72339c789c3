"""DeepSpeed: torch's ranks, and the numbers of its own launcher.

Source: deepspeed `launcher/launch.py` (CROSS_RANK, CROSS_SIZE, LOCAL_SIZE). DS_ACCELERATOR keeps it from probing for GPUs
where the job has none; a job may still set it.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks import pytorch
from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place


def _environment(place: Place, group: Group) -> dict[str, str]:
    return {
        **pytorch.ranks(place, group),
        "CROSS_RANK": str(place.node),
        "CROSS_SIZE": str(group.nodes),
        "LOCAL_SIZE": str(place.processes),
        **({"DS_ACCELERATOR": "cpu"} if group.accelerator == "cpu" else {}),
    }


ADAPTER = Adapter(_environment)
