"""The files of trainyard.worker, trainyard.data and trainyard.tensors as they lie here, for wherever they are sent."""

from __future__ import annotations

from pathlib import Path

import trainyard.data
import trainyard.tensors
import trainyard.worker


def worker_files() -> dict[str, bytes]:
    """Path from the import root → content. What only servers and tests of the data plane need goes along: it is small."""
    found: dict[str, bytes] = {}
    for package in (trainyard.worker, trainyard.data, trainyard.tensors):
        root = Path(next(iter(package.__path__)))
        folder = package.__name__.replace(".", "/")
        found |= {
            f"{folder}/{file.relative_to(root).as_posix()}": file.read_bytes() for file in sorted(root.rglob("*.py"))
        }
    return found
