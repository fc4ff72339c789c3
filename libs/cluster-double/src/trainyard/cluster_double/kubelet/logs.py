"""What containers have written, and the part of a kubelet's HTTPS server that gives it out.

A real API server asks it at `/containerLogs/NAMESPACE/POD/CONTAINER` over TLS, and takes any certificate from a kubelet
unless it was told whom to trust; so this works on a real control plane too.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import trustme
from aiohttp import web

from trainyard.cluster_double import closing
from trainyard.cluster_double.core.objects import seconds_of

Place = tuple[str, str]
"""(namespace, pod)"""


@dataclass(slots=True)
class Output:
    """What one run of a container wrote. All containers of a scripted pod write the same."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    closed: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0
    """Lines that a rotation took away: positions of followers count them still."""

    def write(self, text: str, at: float) -> None:
        self.lines.append((at, text))
        self._tell()

    def close(self) -> None:
        self.closed = True
        self._tell()

    def rotate(self, keep: int = 0) -> None:
        """Drops all but the last lines, as a kubelet whose log file grew too large."""
        gone = len(self.lines) - keep
        self.dropped += gone
        del self.lines[:gone]

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Logs:
    def __init__(self) -> None:
        self._runs: dict[Place, list[Output]] = {}
        self._runner: web.AppRunner | None = None
        self.port = 0

    def open(self, place: Place) -> Output:
        """A new run of the pod's containers."""
        output = Output()
        self._runs.setdefault(place, []).append(output)
        return output

    def current(self, place: Place) -> Output | None:
        runs = self._runs.get(place)
        return runs[-1] if runs else None

    async def start(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("127.0.0.1", "localhost").configure_cert(context)
        application = web.Application()
        application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await closing.close(self._runner)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        names = request.match_info
        runs = self._runs.get((names["namespace"], names["pod"])) or []
        query = request.query
        if not runs:
            said = f'container "{names["container"]}" in pod "{names["pod"]}" is waiting to start: ContainerCreating'
            return web.Response(status=400, text=said)
        before = query.get("previous") == "true"
        if before and len(runs) < 2:
            said = f'previous terminated container "{names["container"]}" in pod "{names["pod"]}" not found'
            return web.Response(status=400, text=said)
        output = runs[-2] if before else runs[-1]
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        position = output.dropped + len(output.lines)
        stamped = query.get("timestamps") == "true"
        for chunk in _selected(output, dict(query), stamped=stamped):
            await response.write(chunk)
        try:
            while query.get("follow") == "true":
                changed = output.changed
                for at, text in output.lines[max(0, position - output.dropped) :]:
                    await response.write(_printed(at, text, stamped=stamped))
                position = output.dropped + len(output.lines)
                if output.closed:
                    break
                await changed.wait()
            await response.write_eof()
        except ConnectionError:  # whoever followed went
            pass
        return response


def _selected(output: Output, query: dict[str, str], *, stamped: bool) -> Iterator[bytes]:
    lines = list(output.lines)
    if "sinceTime" in query:
        since = seconds_of(query["sinceTime"])
        lines = [line for line in lines if line[0] >= since]
    if "sinceSeconds" in query:
        lines = [line for line in lines if line[0] >= time.time() - int(query["sinceSeconds"])]
    if "tailLines" in query:
        lines = lines[len(lines) - int(query["tailLines"]) :] if int(query["tailLines"]) < len(lines) else lines
    left = int(query["limitBytes"]) if "limitBytes" in query else None
    for at, text in lines:
        chunk = _printed(at, text, stamped=stamped)
        if left is not None:
            chunk, left = chunk[:left], left - len(chunk[:left])
        if chunk:
            yield chunk


def _printed(at: float, text: str, *, stamped: bool) -> bytes:
    when = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z ") if stamped else ""
    return f"{when}{text}\n".encode()
