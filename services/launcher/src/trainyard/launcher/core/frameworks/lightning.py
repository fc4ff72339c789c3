"""PyTorch Lightning: torch's ranks, the sign that somebody else has started them, and the size of the world.

Without TORCHELASTIC_RUN_ID Lightning takes its world from `Trainer(devices=…, num_nodes=…)` and neither reads RANK nor
WORLD_SIZE: a script that says other numbers than the job trains alone on every rank, or waits for ranks that nobody starts.
With it, torch's variables count and other numbers are an error. What the script does not say itself, Trainer and Fabric
find in PL_TRAINER_* and LT_*.

Sources, lightning 2.6.6: fabric `plugins/environments/torchelastic.py`, `connector.py` (LT_*), pytorch
`trainer/connectors/accelerator_connector.py` (the order of the environments), `utilities/argparse.py` (PL_TRAINER_*).
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks import pytorch
from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place


def _environment(place: Place, group: Group) -> dict[str, str]:
    given = pytorch.ADAPTER.environment(place, group)
    if group.mode == "torchrun":  # which gives its children a TORCHELASTIC_RUN_ID
        # How many replicas an elastic job has at a time is known to torchrun only, then to the worker library.
        return {**given, **_sizes(place.starts, None if group.elastic else group.nodes)}
    run = f"{group.job_id}.{group.attempt}"
    return {**given, "TORCHELASTIC_RUN_ID": run, **_sizes(place.processes, group.nodes)}


def _sizes(processes: int, nodes: int | None) -> dict[str, str]:
    sizes = {"PL_TRAINER_DEVICES": str(processes), "LT_DEVICES": str(processes)}
    return sizes if nodes is None else {**sizes, "PL_TRAINER_NUM_NODES": str(nodes), "LT_NUM_NODES": str(nodes)}


ADAPTER = Adapter(_environment, pytorch.ADAPTER.command, pytorch.ADAPTER.units)
