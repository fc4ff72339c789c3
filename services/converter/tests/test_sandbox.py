"""The sandbox on real processes: limits hold, nothing survives, nothing of ours leaks in."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.testing.eventually import eventually
from trainyard.converter.adapters import sandbox, worker, worker_exporter
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.ports import ExportRequest

pytestmark = pytest.mark.integration

DESCENDANT = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("descendant", "w").write(str(os.getpid()))
        time.sleep(600)
    time.sleep(1.0)
    os._exit(0)
time.sleep(1.5)
print("the parent has ended")
"""


async def run(folder: Path, code: str, limits: Limits | None = None) -> sandbox.Outcome:
    return await sandbox.run([sys.executable, "-I", "-c", code], folder, limits or Limits(seconds=60))


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_code_and_output_come_back(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "import sys; print('to out'); sys.stderr.write('to err'); sys.exit(3)")
    assert outcome == sandbox.Outcome(3, "", "to out\nto err") or set(outcome.output.split("\n")) == {
        "to out",
        "to err",
    }
    assert outcome.code == 3


async def test_only_the_end_of_long_output_is_kept(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "print('x' * 3_000_000); print('the end')")
    assert outcome.output.endswith("x\nthe end\n")
    assert len(outcome.output) <= 8000


async def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "import time; print('begun', flush=True); time.sleep(600)", Limits(seconds=1.5))
    assert outcome.code is None
    assert outcome.fault == "it took longer than 1.5 s"
    assert outcome.output == "begun\n"


async def test_what_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    code = "import time; kept = bytearray(300_000_000); kept[::4096] = b'x' * len(kept[::4096]); time.sleep(600)"
    outcome = await run(tmp_path, code, Limits(seconds=60, memory=150 * 2**20))
    assert outcome.fault == "it used more than 150.0 MiB of memory"


async def test_a_descendant_that_left_the_session_is_ended_too(tmp_path: Path) -> None:
    outcome = await run(tmp_path, DESCENDANT)
    assert outcome.code == 0
    pid = int((tmp_path / "descendant").read_text())
    await eventually(lambda: gone(pid), within=10)


async def test_a_cancelled_caller_leaves_nothing_running(tmp_path: Path) -> None:
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    task = asyncio.create_task(run(tmp_path, code))
    await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", within=20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: gone(int((tmp_path / "pid").read_text())), within=10)


async def test_nothing_of_ours_is_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_TOKEN", "secret")
    monkeypatch.setenv("NATS_PASSWORD", "secret")
    outcome = await run(tmp_path, "import json, os; print(json.dumps(dict(os.environ)))")
    assert "secret" not in outcome.output
    assert json.loads(outcome.output)["HOME"] == str(tmp_path)


async def test_the_network_is_cut_or_that_it_is_not_is_told(tmp_path: Path) -> None:
    code = """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=5)
    print("connected")
except OSError as error:
    print("refused")
"""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        outcome = await run(tmp_path, code.format(port=server.sockets[0].getsockname()[1]))
    told = Limits().describe()
    assert outcome.output.strip() == ("refused" if "without network" in told else "connected")
    assert ("without network" in told) or ("it cannot be cut on this machine" in told)


async def test_a_killed_converter_takes_its_worker_along(
    tmp_path: Path, torch_python: Path, torch_request: Callable[..., ExportRequest]
) -> None:
    """The worker asks the kernel for it; a sandbox that is gone cannot end anything."""
    request = torch_request(tmp_path, "sleeps", [TensorSpec(name="x", shape=("batch", 3))])
    worker.lay_out(tmp_path, worker_exporter.document(request), request.cases, Limits())
    command = worker.command(torch_python, tmp_path)
    code = (
        "import asyncio, pathlib; from trainyard.converter.adapters import sandbox; "
        f"asyncio.run(sandbox.run({command!r}, pathlib.Path({str(tmp_path)!r}), sandbox.Limits()))"
    )
    converter = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    try:
        await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", within=60)
        running = int((tmp_path / "pid").read_text())
        assert not gone(running)
    finally:
        converter.kill()
        await converter.wait()
    await eventually(lambda: gone(running), within=10)
