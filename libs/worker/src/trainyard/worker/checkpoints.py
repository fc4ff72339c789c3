"""Checkpoints that a restart can trust: written whole or not at all, the newest few kept."""

from __future__ import annotations

import os
import pickle
import zipfile
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
    if keep < 1:
        raise ValueError(f"keep must be 1 or more, not {keep}: a checkpoint that is deleted at once helps nobody")
    if step < 0:
        raise ValueError(f"step must be 0 or more, not {step}")
    rank = here().rank
    if rank != 0 and not all_ranks:
        return None
    folder = _folder(all_ranks)
    target = folder / f"{step:012d}{_SUFFIX}"
    write_whole(state, target)
    # By time of writing, not by step: whoever starts again from an older step must not lose what is written then.
    kept = sorted(_checkpoints(folder), key=lambda path: (path == target, path.stat().st_mtime_ns, path.name))
    for old in kept[:-keep]:
        old.unlink()
    for left in folder.glob("*.writing"):  # of an attempt that was killed
        left.unlink()
    return target


def write_whole(state: Any, target: Path) -> None:
    """`torch.save` into a file that appears under its name when it is whole and on the disk."""
    import torch

    temporary = target.with_suffix(".writing")
    with temporary.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(target)
    _sync(target.parent)


def latest_checkpoint(*, all_ranks: bool = False, map_location: Any = "cpu") -> tuple[int, Any] | None:
    """Step and state of the newest checkpoint that is whole, or None.

    Tensors and plain containers only: a checkpoint is never a program (`weights_only=True`). One that is whole and holds
    something else raises RuntimeError, because going on from an older one would hide it.
    """
    import torch

    for path in sorted(_checkpoints(_folder(all_ranks)), reverse=True):
        try:
            return int(path.stem), torch.load(path, map_location=map_location, weights_only=True)
        except pickle.UnpicklingError as error:
            if zipfile.is_zipfile(path):
                raise RuntimeError(
                    f"{path} holds objects of Python classes; save tensors, numbers, text, lists and dicts only"
                ) from error
            fault = "it is no checkpoint"
        except (OSError, RuntimeError, EOFError) as error:
            fault = str(error).strip().split("\n")[0]
        print(f"trainyard: checkpoint {path.name} cannot be read ({fault}); trying an older one", flush=True)
    return None


def _checkpoints(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal()]


def _sync(folder: Path) -> None:
    """The new name is on the disk as well; a folder can be synced on POSIX only."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _folder(all_ranks: bool) -> Path:
    folder = checkpoint_dir()
    if all_ranks:
        folder = folder / f"rank-{here().rank}"
        folder.mkdir(exist_ok=True)
    return folder
