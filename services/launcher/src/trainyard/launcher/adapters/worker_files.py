"""The files of trainyard.worker as they lie here, for wherever they are sent."""

from __future__ import annotations

from pathlib import Path

import trainyard.worker


def worker_files() -> dict[str, bytes]:
    """Path from the import root → content."""
    root = Path(next(iter(trainyard.worker.__path__)))
    return {
        f"trainyard/worker/{file.relative_to(root).as_posix()}": file.read_bytes()
        for file in sorted(root.rglob("*.py"))
    }
