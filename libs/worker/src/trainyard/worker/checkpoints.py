"""Checkpoints that a restart can trust: written whole or not at all, the newest few kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from trainyard.worker.place import checkpoint_dir, here

_SUFFIX = ".ckpt"


def save_checkpoint(state: Any, step: int, *, keep: int = 2, all_ranks: bool = False) -> Path | None:
    """Write `state` (what `torch.save` takes) as the checkpoint of `step`.

    Only rank 0 writes, unless `all_ranks` (sharded state; each rank has files of its own). The file appears under its name
    when it is whole and on the disk. Older ones beyond `keep` are deleted. Gives the path, or None on a rank that does not
    write.
    """
    import torch

    rank = here().rank
    if rank != 0 and not all_ranks:
        return None
    folder = _folder(all_ranks)
    target = folder / f"{step:012d}{_SUFFIX}"
    temporary = target.with_suffix(".writing")
    with temporary.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(target)
    for old in sorted(folder.glob(f"*{_SUFFIX}"))[:-keep]:
        old.unlink(missing_ok=True)
    return target


def latest_checkpoint(*, all_ranks: bool = False, map_location: Any = "cpu") -> tuple[int, Any] | None:
    """Step and state of the newest checkpoint that can be read, or None. Tensors and plain containers only: a checkpoint
    is never a program (`weights_only=True`)."""
    import torch

    for path in sorted(_folder(all_ranks).glob(f"*{_SUFFIX}"), reverse=True):
        try:
            return int(path.stem), torch.load(path, map_location=map_location, weights_only=True)
        except (OSError, RuntimeError, EOFError) as error:
            print(f"trainyard: checkpoint {path.name} cannot be read ({error}); trying an older one", flush=True)
    return None


def _folder(all_ranks: bool) -> Path:
    folder = checkpoint_dir()
    if all_ranks:
        folder = folder / f"rank-{here().rank}"
        folder.mkdir(exist_ok=True)
    return folder
