"""A service that waits for nats-server leaves when it is told to."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.yard import free_block

pytestmark = pytest.mark.integration


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="which signals a process catches is told by /proc")
async def test_sigterm_ends_the_wait_for_nats(tmp_path: Path) -> None:
    base = free_block(6)
    env = {**os.environ, "TRAINYARD_STATE": str(tmp_path), "TRAINYARD_BASE_PORT": str(base)}
    env["NATS_URL"] = f"nats://127.0.0.1:{base + 5}"  # nobody is there
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "trainyard.matrix", env=env)
    try:
        await eventually(lambda: _catches(process.pid, signal.SIGTERM))
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await process.wait() == 0
    finally:
        with suppress(ProcessLookupError):
            process.kill()
            await process.wait()


def _catches(pid: int, number: signal.Signals) -> bool:
    mask = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    return mask is not None and bool(int(mask[1], 16) >> (number - 1) & 1)
