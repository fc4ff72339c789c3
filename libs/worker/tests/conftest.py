"""Scripts in the torch image, one process a rank, with the environment that a launcher gives."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import trainyard.worker


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    output: str


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """trainyard.worker and nothing else of ours."""
    folder = tmp_path_factory.mktemp("library") / "trainyard"
    folder.mkdir()
    (folder / "worker").symlink_to(next(iter(trainyard.worker.__path__)))
    return folder.parent


@pytest.fixture
def run(torch_python: Path, library: Path, tmp_path: Path) -> Callable[..., list[Ended]]:
    """Runs a script on every rank at once; each gets `env` and its own rank."""

    def ranks(script: str, *, world: int = 1, present: int | None = None, **env: str) -> list[Ended]:
        common = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(library),
            "OMP_NUM_THREADS": "1",
            "WORLD_SIZE": str(world),
            "TRAINYARD_CHECKPOINT": str(tmp_path / "checkpoints"),
            "TRAINYARD_OUTPUT": str(tmp_path / "output"),
            **env,
        }
        started = [
            subprocess.Popen(
                [torch_python, "-c", script],
                env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=tmp_path,
            )
            for rank in range(world if present is None else present)
        ]
        try:
            outputs = [process.communicate(timeout=100)[0] for process in started]
        finally:
            for process in started:
                process.kill()
        return [Ended(process.returncode, output) for process, output in zip(started, outputs, strict=True)]

    return ranks
