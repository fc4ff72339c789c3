"""One launcher over many jobs: a real process, over a real nats-server and the cluster's double in a process of its own.

    python tests/bench/bench_launcher_scale.py [--jobs 100 300 1000] [--kept 6000] [--foreign 6000] [--kubeconfig FILE]

Of each number of jobs, all of which run at once with 4 pods each: memory and processor time of the launcher, how long after a
pod's change it has seen it, how long a job takes to run, how far its logs lag, whether they are complete, and its requests to
the API server by verb and kind. `--kept`: pods of jobs that have ended and are still there; `--foreign`: pods of others.
With `--kubeconfig` on a control plane without kubelets instead of the double. Prints JSON.

A change's lag is the time from its being written in the API server to the launcher's having read it. The double notes when it
writes; on a control plane it is taken from when the kubelet was told of the write, which is a little later.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from scale_kubelet import Played
from scale_pods import add
from scale_world import world

from trainyard.common import ids
from trainyard.common.bus.nats import NatsBus
from trainyard.common.contract import events
from trainyard.common.testing.builders import spec
from trainyard.common.testing.eventually import eventually

PODS = 4
AT_ONCE = 64
HOLD = 30.0  # seconds for which all jobs run together
PATIENCE = 900.0
LOGS_PATIENCE = 120.0  # seconds for which lines that are not stored are waited for
SETTLE = 10.0  # seconds from the launcher's readiness to its being at rest
READS = {"GET", "LIST", "WATCH"}
IMAGE = "registry.example.com/pytorch@sha256:" + "a" * 64


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--kept", type=int, default=6000)
    parser.add_argument("--foreign", type=int, default=6000)
    parser.add_argument("--kubeconfig", type=Path)
    given = parser.parse_args()
    results = []
    for jobs in given.jobs:
        with tempfile.TemporaryDirectory(prefix="trainyard-scale-") as folder:
            results.append(asyncio.run(measure(Path(folder), jobs, given)))
            print(json.dumps(results[-1], indent=1), file=sys.stderr, flush=True)
    first, last = results[0], results[-1]
    growth = {
        name: round(last["a_job"][name] / first["a_job"][name], 2)
        for name in first["a_job"]
        if first["a_job"][name] and isinstance(first["a_job"][name], int | float)
    }
    print(json.dumps({"runs": results, "a_job_at_last_to_first": growth}, indent=1))


async def measure(folder: Path, jobs: int, given: argparse.Namespace) -> dict[str, Any]:
    with world(folder, given.kubeconfig) as made:
        await asyncio.to_thread(add, made.kubeconfig, given.kept, given.foreign, PODS)
        bus = await NatsBus.connect(made.nats.url, source="/bench")
        made.start_launcher()
        await eventually(made.ready, within=120)
        await asyncio.sleep(SETTLE)
        rest = made.launcher()
        began = time.time()
        names = await submit(bus, jobs)
        submitted = time.time() - began
        await eventually(lambda: made.played.running() >= jobs * PODS, within=PATIENCE)
        running = time.time() - began
        log_lags = await logs_while(made.played, made.logs, HOLD)
        made.played.finish()
        await ended(bus, names)
        over = time.time()
        while (logs := await asyncio.to_thread(made.played.stored, made.logs))["missing"]:
            if time.time() - over > LOGS_PATIENCE:
                break
            await asyncio.sleep(0.5)
        logs_after = time.time() - over
        peak = made.launcher()
        notes = await asyncio.to_thread(made.stop_launcher)
        waits = [await to_running(bus, job) for job in names]
        await bus.close()
    written = json.loads(there.read_text()) if (there := folder / "written.json").exists() else made.played.answered
    lags = lags_of({int(version): at for version, at in written.items()}, notes)
    asked: dict[str, int] = notes["asked"]
    return {
        "jobs": jobs,
        "pods": jobs * PODS,
        "launcher_mib": {"at_rest": rest["mib"], "peak": peak["mib"]},
        "seconds": {"submitted": round(submitted, 1), "all_running": round(running, 1)},
        "submission_to_running_s": figures(waits),
        "watch_lag_s": figures(lags),
        "log_lag_s": figures(log_lags),
        "logs": {**logs, "seconds_after_last_job": round(logs_after, 1)},
        "complaints": len(notes["complaints"]),
        "requests": dict(sorted(asked.items())),
        "a_job": {
            "cpu_ms": round((peak["cpu"] - rest["cpu"]) / jobs * 1e3, 1),
            "requests": round(sum(asked.values()) / jobs, 2),
            "writes": round(sum(n for verb, n in asked.items() if verb.split()[0] not in READS) / jobs, 2),
            "lists": round(sum(n for verb, n in asked.items() if verb.startswith("LIST")) / jobs, 3),
        },
    }


async def submit(bus: NatsBus, count: int) -> list[str]:
    """Straight into the log, as the gateway and the matrix do it."""
    room = asyncio.Semaphore(AT_ONCE)
    made = spec(framework="pytorch", command="python train.py", replicas=PODS, timeouts={"grace": 1})
    resolution = events.Resolution(image="pytorch", reference=IMAGE)

    async def one() -> str:
        job = ids.new_job_id()
        async with room:
            seq = await bus.append(events.JobSubmitted(job_id=job, spec=made), after=0)
            await bus.append(events.JobResolved(job_id=job, spec=made, resolution=resolution), after=seq)
        return job

    return await asyncio.gather(*(one() for _ in range(count)))


async def ended(bus: NatsBus, jobs: list[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    for job in jobs:
        while (last := (await bus.latest("job", job))[-1].event.kind) != "succeeded":
            assert last != "failed", job
            assert time.monotonic() < deadline, (job, last)
            await asyncio.sleep(0.5)


async def to_running(bus: NatsBus, job: str) -> float:
    at = {item.event.kind: datetime.fromisoformat(item.time).timestamp() async for item in bus.history("job", job)}
    return at["running"] - at["submitted"]


def lags_of(written: dict[int, float], notes: dict[str, Any]) -> list[float]:
    seen = zip(notes["versions"], notes["times"], strict=True)
    return [max(0.0, at - written[version]) for version, at in seen if version in written]


async def logs_while(played: Played, logs: Path, seconds: float) -> list[float]:
    """How old the oldest line is that was said and is not stored, of each pod, looked at now and then."""
    until, found = time.monotonic() + seconds, []
    while time.monotonic() < until:
        await asyncio.sleep(seconds / 4)
        found += await asyncio.to_thread(played.log_lags, logs)
    return found


def figures(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {"p50": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "max": len(ordered) - 1}
    return {"count": len(ordered), **{name: round(ordered[index], 3) for name, index in at.items() if ordered}}


if __name__ == "__main__":
    main()
