"""PyTorch Lightning: torch's group, which Lightning joins. The handle is a dict: `Trainer(**process.handle)`, or `Fabric`.

In a job Lightning finds the same by itself; under an elastic torchrun, where replicas come and go, only the handle is right.
Sources: lightning `fabric/utilities/distributed.py` (a group that is there is used), `fabric/plugins/io/torch_io.py`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainyard.worker.checkpoints import write_whole
from trainyard.worker.frameworks import torch
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    process = torch.join(backend, timeout)
    local = int(os.environ.get("LOCAL_WORLD_SIZE", process.world_size))
    options = {
        "accelerator": {"cuda": "gpu", "cpu": "cpu"}.get(process.device.type, "auto"),
        "devices": local,
        "num_nodes": process.world_size // local,
        "strategy": "ddp" if process.backend else "auto",
    }
    return replace(process, handle=options)


def describe(process: Process) -> str:
    return f"Lightning {process.handle['strategy']}, {torch.describe(process)}"


def checkpoint_io() -> Any:
    """What writes and reads checkpoints, for `Trainer(plugins=[checkpoint_io()])`.

    A file appears under its name when it is whole and on the disk: Lightning's own moves it there from the folder for
    temporary files, which copies where that is another file system, so a job that is killed meanwhile can leave half of
    one. It reads tensors and plain containers only: a checkpoint is never a program.
    """
    from lightning.pytorch.plugins.io import TorchCheckpointIO

    class Whole(TorchCheckpointIO):  # type: ignore[misc]
        def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
            if storage_options is not None:
                raise TypeError("storage_options mean nothing to files: leave them out of Trainer.save_checkpoint")
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(checkpoint, target)

        def load_checkpoint(self, path: Any, map_location: Any = "cpu", weights_only: bool | None = None) -> Any:
            return super().load_checkpoint(path, map_location, weights_only is not False)

    return Whole()
