"""A worker from our side: a folder with the request, the inputs and the worker itself, and its run in the sandbox. What it
answers is read by `answers`."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import trainyard.worker
from trainyard.converter import workers
from trainyard.converter.adapters import sandbox
from trainyard.converter.core.cases import Array, Case

START = """\
import sys
sys.path.insert(0, sys.argv[1])
from trainyard.converter.workers.main import main
for folder in sys.argv[2:]:
    main(folder)
"""


async def run(
    python: Path, folder: Path, document: Mapping[str, Any], cases: Mapping[str, Case], limits: sandbox.Limits
) -> sandbox.Outcome:
    """The worker on one request, `document`, in `folder`, which is its own."""
    await asyncio.to_thread(lay_out, folder, document, cases, limits)
    return await sandbox.run(command(python, folder), folder, limits)


def command(python: Path, *folders: Path) -> list[str]:
    """The worker on the requests in these folders, one after the other."""
    return [str(python), "-I", "-c", START, str(folders[0] / "lib"), *map(str, folders)]


def lay_out(folder: Path, document: Mapping[str, Any], cases: Mapping[str, Case], limits: sandbox.Limits) -> None:
    """A worker's folder: the request, the inputs, the worker itself, and the library that jobs import."""
    for package in (trainyard.worker, workers):
        source = Path(next(iter(package.__path__)))
        target = folder / "lib" / Path(*package.__name__.split("."))
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    store(folder / "cases.npz", cases)
    (folder / "request.json").write_text(json.dumps({**document, "limits": bounds(limits)}))


def bounds(limits: sandbox.Limits) -> dict[str, int]:
    """What a worker limits itself by."""
    return {
        "cpu_seconds": max(10, math.ceil(limits.seconds * 4)),  # of several threads
        "file_bytes": limits.file_bytes,
        "memory": limits.memory,
        "inline": limits.inline,
    }


def store(file: Path, cases: Mapping[str, Mapping[str, Array]]) -> None:
    """Arrays by case and name, as workers read them."""
    arrays = {f"{case}/{name}": array for case, inputs in cases.items() for name, array in inputs.items()}
    np.savez(file, **arrays)  # type: ignore[arg-type]
