"""What `yard doctor` looks at: each finding is a line with what follows from it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from trainyard.client.yard.layout import Layout
from trainyard.client.yard.preflight import MIN_FREE
from trainyard.client.yard.record import is_held
from trainyard.client.yard.supervisor import is_ready
from trainyard.common.contract.findings import Finding
from trainyard.common.contract.quantities import human_bytes


def examine(layout: Layout) -> list[Finding]:
    """Every finding; looks only, changes nothing."""
    return [finding for part in _PARTS for finding in part(layout)]


def _python(_: Layout) -> Iterator[Finding]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    level: Literal["ok", "fault"] = "ok" if sys.version_info >= (3, 11) else "fault"
    yield Finding(level=level, subject="python", text=f"{version} ({sys.executable})")


def _nats(layout: Layout) -> Iterator[Finding]:
    server = Path(layout.nats().command[0])
    if not server.exists():
        yield Finding(level="fault", subject="nats-server", text=f"{server} is missing: run ./start.sh again")
        return
    done = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=20, check=False)
    yield Finding(level="ok", subject="nats-server", text=done.stdout.strip())


def _disk(layout: Layout) -> Iterator[Finding]:
    folder = next(path for path in (layout.state, *layout.state.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    yield Finding(
        level="ok" if free > MIN_FREE else "fault", subject="disk", text=f"{human_bytes(free)} free at {folder}"
    )


def _services(layout: Layout) -> Iterator[Finding]:
    if not is_held(layout.lock):
        yield Finding(level="note", subject="yard", text="not up: `yard up` starts it")
        return

    async def look() -> list[bool]:
        return list(await asyncio.gather(*(is_ready(child) for child in (layout.nats(), *layout.services()))))

    for child, ready in zip((layout.nats(), *layout.services()), asyncio.run(look()), strict=True):
        text = f"ready on port {child.port}" if ready else f"not ready: see {layout.logs / child.name}.log"
        yield Finding(level="ok" if ready else "fault", subject=child.name, text=text)


def _tools(_: Layout) -> Iterator[Finding]:
    for program, why in (("nvidia-smi", "NVIDIA GPUs can be seen"), ("docker", "containers can be built")):
        found = shutil.which(program)
        yield Finding(
            level="ok" if found else "note", subject=program, text=why if found else f"not found; without it not: {why}"
        )


_PARTS: tuple[Callable[[Layout], Iterator[Finding]], ...] = (_python, _nats, _disk, _services, _tools)
