"""The monitor's memory: what the events say, bounded, and what the panel and Prometheus make of it."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.commands import Answer
from trainyard.common.errors import Unavailable
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.testing.builders import spec
from trainyard.monitor.adapters import http
from trainyard.monitor.adapters.host import HostCollector
from trainyard.monitor.adapters.metrics import FleetCollector
from trainyard.monitor.core import fleet as fleets
from trainyard.monitor.core.fleet import Fleet
from trainyard.monitor.core.snapshot import snapshot

_seq = itertools.count(1)


def tell(fleet: Fleet, *told: events.Event) -> None:
    for event in told:
        fleet.apply(Recorded(next(_seq), event, event.event_id(), "/t", "2026-12-01T10:00:00.000000Z"))


def running(fleet: Fleet, job: str = "j", pid: int = 1) -> None:
    tell(
        fleet,
        events.JobSubmitted(job_id=job, spec=spec(framework="pytorch", name="digits"), owner="ann"),
        events.JobResolved(job_id=job, spec=spec(), resolution=events.Resolution(image="x")),
        events.JobStarting(job_id=job, backend="local", node="n"),
        events.JobRunning(job_id=job, ranks=(events.RankInfo(rank=0, pid=pid),)),
    )


def test_a_job_with_its_curve_and_its_conversion() -> None:
    fleet = Fleet()
    running(fleet)
    for epoch in range(3):
        tell(
            fleet,
            events.JobProgress(job_id="j", number=epoch + 1, epoch=epoch, epochs=3, metrics={"loss": 1 / (epoch + 1)}),
        )
    tell(
        fleet,
        events.JobSucceeded(job_id="j", outputs="/o"),
        events.ConversionProgress(conversion_id="c", job_id="j", number=1, step="export", fraction=0.2),
        events.ConversionSucceeded(
            conversion_id="c", job_id="j", name="m", report="/r", report_html="/r.html", max_abs_error=1e-6
        ),
    )
    view = snapshot(fleet)["jobs"][0]
    assert (view["state"], view["progress"]["epoch"], len(view["curve"])) == ("succeeded", 2, 3)
    assert view["conversions"][0]["state"] == "succeeded"
    assert view["conversions"][0]["report"] == "/reports/c"
    assert "/r.html" not in str(view)


def test_memory_is_bounded_and_active_jobs_are_never_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "MAX_ENDED", 5)
    monkeypatch.setattr(fleets, "MAX_POINTS", 10)
    fleet = Fleet()
    running(fleet, "alive")
    for number in range(20):
        running(fleet, f"j{number}")
        tell(fleet, events.JobFailed(job_id=f"j{number}", reason=EndReason.ERROR, message="x"))
    for step in range(50):
        tell(fleet, events.JobProgress(job_id="alive", number=step + 1, step=step, metrics={"loss": 1.0}))
    assert list(fleet.jobs) == ["alive", *(f"j{number}" for number in range(15, 20))]
    assert len(fleet.jobs["alive"].curve) == 10
    assert fleet.counts == {("pytorch", "failed"): 20}


def test_series_end_with_their_job_and_what_is_not_measured_is_absent() -> None:
    fleet = Fleet()
    registry = CollectorRegistry()
    registry.register(FleetCollector(fleet))
    running(fleet)
    devices = (events.Device(id="cpu", kind="cpu", model="2 cores", utilisation=0.5),)
    usage = (events.Usage(job_id="j", cpu_cores=1.5, memory_used=2**20, processes=2),)
    tell(fleet, events.DeviceSampled(node="n", at=1.0, devices=devices, usage=usage))
    text = generate_latest(registry).decode()
    assert 'trainyard_job_cpu_cores{framework="pytorch",job_id="j",name="digits",project="default"} 1.5' in text
    assert 'trainyard_device_utilisation_ratio{device="cpu",kind="cpu",model="2 cores",node="n"} 0.5' in text
    assert "trainyard_device_power_watts{" not in text
    tell(fleet, events.JobFailed(job_id="j", reason=EndReason.ERROR, message="x"))
    text = generate_latest(registry).decode()
    assert "job_id=" not in text
    assert 'trainyard_jobs_ended_total{framework="pytorch",state="failed"} 1.0' in text


def test_real_processes_are_measured_with_their_children() -> None:
    collector = HostCollector()
    collector.usage({"j": [os.getpid()]})
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        sum(range(1000))
    (usage,) = collector.usage({"j": [os.getpid()]})
    assert usage.processes >= 1
    assert usage.memory_used is not None
    assert usage.memory_used > 2**20
    assert usage.cpu_cores is not None
    assert usage.cpu_cores > 0.1
    assert collector.usage({"gone": [2**22 - 1]})[0].processes == 0
    (device,) = collector.devices()
    assert device.memory_total is not None


async def no_matrix() -> Answer:
    raise Unavailable("no matrix here")


async def test_pages_and_reports(tmp_path: Path) -> None:
    fleet = Fleet()
    running(fleet)
    page = tmp_path / "report.html"
    page.write_text("<p>proven</p>")
    conversion = "0" * 26
    done: dict[str, Any] = {"job_id": "j", "name": "m", "report": "/r"}
    tell(fleet, events.ConversionSucceeded(conversion_id=conversion, report_html=str(page), **done))
    app = http.create(fleet, lambda: snapshot(fleet), no_matrix)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        panel = await client.get("/")
        assert panel.status_code == 200
        assert "default-src 'self'" in panel.headers["content-security-policy"]
        for name in ("panel.js", "panel.css"):
            assert (await client.get(f"/static/{name}")).status_code == 200
        assert (await client.get("/static/../app.py")).status_code == 404
        assert (await client.get("/api/fleet")).json()["jobs"][0]["name"] == "digits"
        report = await client.get(f"/reports/{conversion}")
        assert report.text == "<p>proven</p>"
        assert "default-src 'none'" in report.headers["content-security-policy"]
        assert (await client.get(f"/reports/{'1' * 26}")).status_code == 404
        assert (await client.get("/reports/etc")).status_code == 422


def test_why_a_job_does_not_run_and_why_it_began_anew() -> None:
    fleet = Fleet()
    running(fleet)
    assert snapshot(fleet)["jobs"][0]["restarts"] == {}
    lost = {"reason": EndReason.NODE_LOST, "message": "rank 0: its node is gone"}
    tell(
        fleet,
        events.JobRestarting(job_id="j", **lost, budget="infrastructure", budget_left=2, used={"infrastructure": 1}),
        events.JobStarting(job_id="j", attempt=2, backend="kubernetes", node=""),
        events.JobPending(job_id="j", attempt=2, message="0/5 nodes: 3 lack nvidia.com/gpu"),
    )
    view = snapshot(fleet)["jobs"][0]
    assert (view["state"], view["message"]) == ("starting", "0/5 nodes: 3 lack nvidia.com/gpu")
    tell(fleet, events.JobRunning(job_id="j", attempt=2, ranks=(events.RankInfo(rank=0, pid=1),)))
    view = snapshot(fleet)["jobs"][0]
    assert (view["attempt"], view["message"]) == (2, "")
    assert view["restarts"] == {"attempt": 1, "message": lost["message"], "used": {"infrastructure": 1}}
