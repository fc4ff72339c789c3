"""How a service runs: settings, health, logs, traces, and the port it takes."""

from __future__ import annotations

import asyncio
import io
import json
import logging as stdlib
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from trainyard.common.bus.context import traceparent
from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.common.loopback import free_port
from trainyard.common.runtime import health, logging, tracing
from trainyard.common.runtime.run import listen
from trainyard.common.runtime.settings import RuntimeSettings, is_loopback

TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def test_settings_have_defaults_and_say_what_is_wrong() -> None:
    settings = RuntimeSettings.from_env("launcher", {"TRAINYARD_LISTEN": "192.0.2.1", "TRAINYARD_BASE_PORT": "9000"})
    assert (settings.host, settings.port, settings.nats_url) == ("127.0.0.1", 9002, "nats://127.0.0.1:9005")
    assert RuntimeSettings.from_env("job-api", {"TRAINYARD_LISTEN": "192.0.2.1"}).host == "192.0.2.1"
    for env, says in (
        ({"TRAINYARD_BASE_PORT": "x"}, "not a whole number"),
        ({"TRAINYARD_BASE_PORT": "80"}, "out of range"),
        ({"TRAINYARD_LOG_FORMAT": "xml"}, "one of auto, json, pretty"),
    ):
        with pytest.raises(InvalidInput, match=says):
            RuntimeSettings.from_env("job-api", env)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("192.0.2.1", False),
        ("example", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_port_in_use_is_told() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with pytest.raises(TrainyardError, match="TRAINYARD_BASE_PORT"):
            listen("127.0.0.1", holder.getsockname()[1])


async def test_answers_do_not_wait_for_acknowledgements() -> None:
    delays: list[int] = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        delays.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = listen("127.0.0.1", free_port())
    async with await asyncio.start_server(answer, sock=listener):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        await reader.read()
        writer.close()
        await writer.wait_closed()
    assert delays == [1]


async def test_health_paths() -> None:
    faults: list[str | None] = [None]

    async def check() -> str | None:
        return faults[0]

    app = health.application("launcher", {"bus": check})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as http:
        assert (await http.get("/healthz")).json() == {"service": "launcher", "status": "ok"}
        assert (await http.get("/readyz")).status_code == 200
        faults[0] = "nats-server does not answer"
        response = await http.get("/readyz")
        assert (response.status_code, response.json()["faults"]) == (503, {"bus": "nats-server does not answer"})
        text = (await http.get("/metrics")).text
        assert 'trainyard_service_ready{service="launcher"} 0.0' in text
        accept = {"accept": "application/openmetrics-text; version=1.0.0"}
        assert (await http.get("/metrics", headers=accept)).text.rstrip().endswith("# EOF")


def test_logs_are_json_with_job_and_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = io.StringIO()
    monkeypatch.setattr(sys, "stderr", sink)
    root = stdlib.getLogger()
    before, level = root.handlers[:], root.level
    token = traceparent.set(TRACE)
    try:
        logging.configure("launcher", "json")
        structlog.get_logger().info("started", job_id="j")
        stdlib.getLogger("some.library").warning("from %s", "elsewhere")
    finally:
        traceparent.reset(token)
        root.handlers[:], root.level = before, level
        structlog.reset_defaults()
    ours, theirs = (json.loads(line) for line in sink.getvalue().splitlines())
    assert (ours["event"], ours["job_id"], ours["service"], ours["trace_id"]) == ("started", "j", "launcher", "a" * 32)
    assert (theirs["event"], theirs["level"]) == ("from elsewhere", "warning")


def test_spans_make_a_tree_without_an_exporter() -> None:
    assert tracing.valid("00-" + "0" * 32 + "-" + "b" * 16 + "-01") is None
    assert tracing.valid("nonsense") is None
    with tracing.span("outer", TRACE) as outer:
        assert outer[3:35] == "a" * 32
        assert outer[36:52] != "b" * 16
        with tracing.span("inner") as inner:
            assert inner[:36] == outer[:36]
            assert inner != outer
        assert traceparent.get() == outer
    with tracing.span("new") as new:
        assert tracing.valid(new)


@pytest.mark.integration
def test_spans_reach_a_real_otlp_receiver(tmp_path: Path) -> None:
    """In a process of its own: an exporter is set once for a process."""
    received: list[tuple[str, bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script = (
        "from trainyard.common.runtime import tracing\n"
        f"tracing.configure('launcher', 'http://127.0.0.1:{server.server_port}')\n"
        f"with tracing.span('conversion', {TRACE!r}, conversion_id='c1') as header: print(header)\n"
        "tracing.shutdown()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    server.shutdown()
    server.server_close()
    assert done.stdout[3:35] == "a" * 32
    ((path, body),) = received
    assert path == "/v1/traces"
    for part in (b"conversion", b"trainyard-launcher", b"c1", bytes.fromhex("a" * 32)):
        assert part in body
