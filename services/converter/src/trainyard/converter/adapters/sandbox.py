"""A foreign program under limits: a session and a scratch folder of its own, no network where the system lets us cut it,
bounded time and memory, ended with everything that it started.

Not a jail against a determined attacker; models that carry code are refused before they come here. What is not possible on
a machine is told in the report instead of being left out in silence.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import psutil

from trainyard.common.contract.quantities import human_bytes, human_seconds

_LOOK = 0.25  # seconds between two looks at the memory
_KEPT_OUTPUT = 8000


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float = 900.0
    memory: int = 12 * 2**30
    file_bytes: int = 8 * 2**30

    def describe(self) -> str:
        network = "without network" if _without_network() else "with network (it cannot be cut on this machine)"
        return f"{human_seconds(self.seconds)}, {human_bytes(self.memory)} of memory, {network}"


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int | None
    """None when it was ended by us."""
    fault: str
    """Why it was ended by us; empty otherwise."""
    output: str
    """The end of what it wrote."""


async def run(command: Sequence[str], folder: Path, limits: Limits) -> Outcome:
    """Runs the command in `folder`. A cancelled caller leaves nothing running."""
    process = await asyncio.create_subprocess_exec(
        *_without_network(),
        *command,
        cwd=folder,
        env=_environment(folder),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    watcher = asyncio.create_task(_watch(process.pid, limits))
    reading = asyncio.create_task(_read(process))
    fault = ""
    try:
        async with asyncio.timeout(limits.seconds):
            ended = asyncio.create_task(process.wait())
            await asyncio.wait({ended, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if watcher.done():
                fault = f"it used more than {human_bytes(limits.memory)} of memory"
    except TimeoutError:
        fault = f"it took longer than {human_seconds(limits.seconds)}"
    finally:
        watcher.cancel()
        _end(process.pid)
        await process.wait()
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await reading
    return Outcome(None if fault else process.returncode, fault, reading.result() if reading.done() else "")


async def _read(process: asyncio.subprocess.Process) -> str:
    kept = b""
    assert process.stdout is not None  # noqa: S101 - asked for
    while chunk := await process.stdout.read(65536):
        kept = (kept + chunk)[-_KEPT_OUTPUT:]
    return kept.decode(errors="replace")


async def _watch(pid: int, limits: Limits) -> None:
    """Returns when the tree has more memory than it may."""
    while True:
        await asyncio.sleep(_LOOK)
        used = 0
        with suppress(psutil.Error):
            root = psutil.Process(pid)
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.Error):
                    used += process.memory_info().rss
        if used > limits.memory:
            return


def _end(pid: int) -> None:
    children: list[psutil.Process] = []
    with suppress(psutil.Error):
        children = psutil.Process(pid).children(recursive=True)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for child in children:
        with suppress(psutil.Error):
            child.kill()


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of ours but what a library needs to run."""
    kept = {name: value for name in ("PATH", "LANG", "OPENBLAS_CORETYPE") if (value := os.environ.get(name))}
    return {**kept, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}


@lru_cache(maxsize=1)
def _without_network() -> tuple[str, ...]:
    """The prefix that starts a program in a network namespace with nothing in it; empty where that is not allowed."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return ()
    prefix = ("unshare", "--net", "--map-root-user")
    import subprocess  # noqa: PLC0415 - asked once

    try:
        probe = subprocess.run([*prefix, "true"], capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return prefix if probe.returncode == 0 else ()
