"""Jobs a second through the whole pipeline, durable: submit → matrix → launcher (nothing is started) → succeeded, seen in
the read model. Every service is a process of its own, as in production; all of them share this machine's cores with the
submitting client.

    python tests/bench/bench_pipeline.py [jobs]

Prints JSON: jobs/s, latencies of single jobs, CPU seconds a job by process, and the ratio to bare appends of the same
number of events by one client on the same nats-server in the same run.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import nats
import psutil

from trainyard.common.bus.nats import NatsBus
from trainyard.common.contract.commands import SubmitJob
from trainyard.common.runtime.settings import SERVICES
from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.yard import YardProcess

SPEC = {"name": "noop", "framework": "generic", "image": "noop", "command": ["true"]}
EVENTS_A_JOB = 5
AT_ONCE = 128


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with tempfile.TemporaryDirectory(prefix="trainyard-bench-") as folder:
        yard = YardProcess(Path(folder))
        yard.start()
        try:
            print(json.dumps(asyncio.run(measure(yard, jobs)), indent=1))
        finally:
            yard.stop()


async def measure(yard: YardProcess, jobs: int) -> dict[str, Any]:
    bus = await NatsBus.connect(yard.nats_url, source="/bench")
    async with httpx.AsyncClient(base_url=yard.url, trust_env=False) as http:
        await submit(bus, 200)
        await ended(http, 200)
        single = [await latency(bus, http) for _ in range(20)]
        first_lines = [await first_line(bus, http) for _ in range(10)]
        before = cpu(yard)
        began = time.perf_counter()
        await submit(bus, jobs)
        submitted = time.perf_counter() - began
        await ended(http, 230 + jobs)
        seconds = time.perf_counter() - began
        spent = {name: round((after - before[name]) / jobs * 1e3, 3) for name, after in cpu(yard).items()}
    bare = await bare_appends(yard, jobs * EVENTS_A_JOB)
    await bus.close()
    return {
        "jobs": jobs,
        "jobs_per_second": round(jobs / seconds, 1),
        "submitted_per_second": round(jobs / submitted, 1),
        "ratio_to_bare_appends": round(jobs * EVENTS_A_JOB / seconds / bare, 3),
        "bare_appends_per_second": round(bare),
        "single_job_ms": {"median": round(sorted(single)[10] * 1e3, 1), "worst": round(max(single) * 1e3, 1)},
        "submit_to_first_line_ms": {
            "median": round(sorted(first_lines)[5] * 1e3, 1),
            "worst": round(max(first_lines) * 1e3, 1),
        },
        "cpu_ms_per_job": spent,
    }


async def submit(bus: NatsBus, count: int) -> None:
    """Through the NATS command, with a bounded number under way."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with room:
            answer = await bus.request(SubmitJob(spec=SPEC), timeout=60)
            assert answer.status == 201, answer

    await asyncio.gather(*(one() for _ in range(count)))


async def ended(http: httpx.AsyncClient, count: int) -> None:
    """Until the read model shows so many jobs as succeeded."""
    while True:
        page = (await http.get("/v1/jobs", params={"state": "succeeded", "limit": 1})).json()
        if page["total"] >= count:
            return
        await asyncio.sleep(0.05)


async def latency(bus: NatsBus, http: httpx.AsyncClient) -> float:
    began = time.perf_counter()
    answer = await bus.request(SubmitJob(spec=SPEC))
    while True:
        if (await http.get(f"/v1/jobs/{answer.body['job_id']}")).json()["state"] == "succeeded":
            return time.perf_counter() - began


async def first_line(bus: NatsBus, http: httpx.AsyncClient) -> float:
    """From the request to the first line of user code, by the clock that both read."""
    command = [sys.executable, "-I", "-S", "-c", "import time; print(time.time())"]
    began = time.time()
    spec = {"name": "first-line", "framework": "generic", "command": command}
    job = (await bus.request(SubmitJob(spec=spec))).body["job_id"]

    async def over() -> bool:
        return bool((await http.get(f"/v1/jobs/{job}")).json()["state"] == "succeeded")

    await eventually(over)
    return float((await http.get(f"/v1/jobs/{job}/logs")).text) - began


async def bare_appends(yard: YardProcess, count: int) -> float:
    """Optimistic appends a second of nats-py alone, as many under way as above."""
    client = await nats.connect(yard.nats_url)
    js = client.jetstream()
    await js.add_stream(name="bare", subjects=["bare.>"])
    began = time.perf_counter()

    async def lane(number: int) -> None:
        last = 0
        for _ in range(count // AT_ONCE):
            headers = {
                "Nats-Expected-Last-Subject-Sequence": str(last),
                "Nats-Expected-Last-Subject-Sequence-Subject": f"bare.{number}.*",
            }
            last = (await js.publish(f"bare.{number}.x", b"x" * 512, headers=headers)).seq

    await asyncio.gather(*(lane(number) for number in range(AT_ONCE)))
    rate = count // AT_ONCE * AT_ONCE / (time.perf_counter() - began)
    await js.delete_stream("bare")
    await client.close()
    return rate


def cpu(yard: YardProcess) -> dict[str, float]:
    found = {}
    for name in (*SERVICES, "nats-server"):
        times = psutil.Process(yard.pid(name)).cpu_times()
        found[name] = times.user + times.system
    own = psutil.Process().cpu_times()
    return {**found, "client": own.user + own.system}


if __name__ == "__main__":
    main()
