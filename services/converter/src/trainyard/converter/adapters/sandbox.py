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
from trainyard.converter.workers.onnx_file import INLINE

_LOOK = 0.25  # seconds between two looks at the memory
_KEPT_OUTPUT = 8000


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float = 900.0
    memory: int = 12 * 2**30
    file_bytes: int = 8 * 2**30
    inline: int = INLINE
    """Bytes of weights that an ONNX file holds itself at most; those of a larger model lie beside it."""

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
    # A pipe of our own: asyncio's would make the end of the process wait for whoever has inherited it.
    ours, its = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *_without_network(),
            *command,
            cwd=folder,
            env=_environment(folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=its,
            stderr=its,
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(its)
    tree = _Tree(process.pid)
    reading = asyncio.create_task(_read(ours))
    watcher = asyncio.create_task(_watch(tree, limits))
    ended = asyncio.create_task(process.wait())
    fault = ""
    try:
        async with asyncio.timeout(limits.seconds):
            await asyncio.wait({ended, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                fault = f"it used more than {human_bytes(limits.memory)} of memory"
    except TimeoutError:
        fault = f"it took longer than {human_seconds(limits.seconds)}"
    finally:
        watcher.cancel()
        tree.kill()
        await ended
    output = ""
    with suppress(TimeoutError):  # somebody who was born and orphaned between two looks may still hold the pipe
        async with asyncio.timeout(5):
            output = await reading
    return Outcome(None if fault else process.returncode, fault, output)


async def _read(descriptor: int) -> str:
    """The end of what comes, until the last writer has gone."""
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    file = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), file)
    kept = b""
    try:
        while chunk := await stream.read(65536):
            kept = (kept + chunk)[-_KEPT_OUTPUT:]
    finally:
        transport.close()
    return kept.decode(errors="replace")


class _Tree:
    """A process and every descendant that was seen at any time, also those that made a session of their own and lost
    their parent since."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: set[psutil.Process] = set()

    def memory(self) -> int:
        """Bytes that are resident. Looks for new descendants."""
        used = 0
        with suppress(psutil.Error):
            root = psutil.Process(self._pid)
            self._seen.update((root, *root.children(recursive=True)))
        for process in list(self._seen):
            with suppress(psutil.Error):
                used += process.memory_info().rss
        return used

    def kill(self) -> None:
        self.memory()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        for process in self._seen:
            with suppress(psutil.Error):
                process.kill()  # not if the number belongs to another process by now


async def _watch(tree: _Tree, limits: Limits) -> None:
    """Returns when the tree has more memory than it may."""
    while True:
        if tree.memory() > limits.memory:
            return
        await asyncio.sleep(_LOOK)


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
