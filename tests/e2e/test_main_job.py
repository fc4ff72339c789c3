"""The main job on real parts: trained, converted, served; and the same while everything around it is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from trainyard.client import files
from trainyard.client.sdk import Yard
from trainyard.common.contract.views import JobView
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.yard import YardProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]


def check_result(gateway: Yard, job: JobView) -> None:
    """Accuracy on held-out digits, numbers equal at several batch sizes, and a served prediction equal to torch's."""
    assert job.state is State.SUCCEEDED, job.message
    assert job.progress is not None
    assert job.progress["metrics"]["accuracy"] >= 0.95
    conversion = gateway.wait_conversion(gateway.conversion_of(job.job_id).conversion_id, timeout=200)
    assert conversion.state == "succeeded", conversion.message
    assert conversion.result is not None
    report = json.loads(Path(conversion.result["report"]).read_text())
    assert report["verdict"] == "proven"
    assert report["batch_sizes"] == [1, 2, 7, 32]
    assert all(item["passed"] for item in report["comparisons"])
    assert report["served"]["predicted"] == report["served"]["reference"]
    assert report["served"]["max_abs_error"] < 1e-3
    assert Path(conversion.result["report_html"]).read_text().count("<tr>") > 10
    version = Path(conversion.result["repository"]) / "digits-pytorch" / "1" / "model.onnx"
    assert version.stat().st_size > 50_000


def test_the_main_job(yard: YardProcess, gateway: Yard, digits: Path) -> None:
    job = gateway.submit(files.read(digits))
    events = list(gateway.follow_events(job.job_id))
    kinds = [event.kind for event in events]
    check_result(gateway, gateway.wait(job.job_id))
    ended = gateway.job(job.job_id)
    lifecycle = [kind for kind in kinds if kind not in {"progress", "queued"}]
    told = [event.data for event in events if event.kind == "restarting"]
    # The first attempt's: should a rank die in it, its last words are the only explanation.
    lines = list(gateway.follow_logs(job.job_id, attempt=1))
    assert lifecycle == ["submitted", "resolved", "starting", "running", "succeeded"], (told, lines[-40:])
    assert "progress" in kinds
    assert (Path(ended.result["outputs"]) / "model.pt").exists()  # type: ignore[index]
    assert sum("accuracy" in line["text"] for line in lines if line["rank"] == 0) == 12
    assert {line["rank"] for line in lines} >= {0}
    shown = yard.yard("status", job.job_id).stdout
    assert "succeeded" in shown
    report = httpx.get(
        f"http://127.0.0.1:{yard.port('monitor')}/reports/{ended.conversions[0].conversion_id}", trust_env=False
    )
    assert "proven" in report.text
    told = yard.yard("report", job.job_id).stdout
    assert told.startswith("digits-pytorch  proven  equal on"), told
    again = yard.yard("convert", str(digits), "--artifacts", ended.result["outputs"], timeout=200)  # type: ignore[index]
    assert again.returncode == 0, again.stderr
    assert (yard.state / "models" / "digits-pytorch" / "2" / "model.onnx").exists()


async def test_everything_is_killed_in_the_middle(make_yard: Callable[..., YardProcess], digits: Path) -> None:
    """SIGKILL to each service in turn and to nats-server while ranks train: the job ends well, its processes are the
    ones that were started, and no event is lost or doubled."""
    yard = make_yard()
    document = files.read(digits)
    document["command"] = "python train.py --epochs 120"  # long enough for all the kills
    document["retries"] = {"user": 0, "infrastructure": 0}  # a restart would show as a failure
    with Yard(yard.url) as gateway:
        job = gateway.submit(document)

        def progressing() -> bool:
            return bool(gateway.job(job.job_id).progress)

        await eventually(progressing, within=120)
        pids = _rank_pids(yard, job.job_id)
        for name in ("launcher", "nats-server", "job-api", "matrix", "monitor", "converter", "nats-server", "launcher"):
            yard.kill(name)
        ended = gateway.wait(job.job_id, timeout=240)
        check_result(gateway, ended)
        events = gateway.events(job.job_id).events
    assert _rank_pids(yard, job.job_id) == pids
    assert ended.attempt == 1
    ids_ = [event.id for event in events]
    assert len(ids_) == len(set(ids_))
    once = [event.kind for event in events if event.kind not in {"progress", "queued"}]
    assert once == ["submitted", "resolved", "starting", "running", "succeeded"]
    numbers = [event.data["number"] for event in events if event.kind == "progress"]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 120  # the last report of 120 epochs was told


def _rank_pids(yard: YardProcess, job_id: str) -> list[int]:
    folder = yard.state / "jobs" / job_id / "1"
    return [json.loads((folder / str(rank) / "pid.json").read_text())["pid"] for rank in (0, 1)]
