"""An API server that answers nobody for five minutes, and NATS away for one of them: no job may lose its life by it.

    python tests/bench/bench_outage.py [--seconds 300] [--jobs 20] [--kubeconfig FILE --api-server PID]

The API server (of the double, or of the control plane that is given) is stopped in the middle of its work, so that its
connections stay open and silent; then it goes on. nats-server is killed meanwhile, and comes back after a minute. Half of
the jobs are submitted before, the other half while nobody answers. Prints JSON and ends with 1 unless every job has ended
well in its first attempt, with one set of objects and its whole log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench_launcher_scale import PODS, ended, submit
from scale_world import World, world

from trainyard.cluster_double.testing.api import Api
from trainyard.common.bus.nats import NatsBus
from trainyard.common.testing.eventually import eventually

NATS_AWAY = 60.0  # seconds
LIFE = ["submitted", "resolved", "starting", "running", "succeeded"]
OBJECTS = {
    "Job": "/apis/batch/v1/jobs",
    "Pod": "/api/v1/pods",
    "ConfigMap": "/api/v1/configmaps",
    "Service": "/api/v1/services",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--api-server", type=int, help="its process, of that control plane")
    given = parser.parse_args()
    if bool(given.kubeconfig) != bool(given.api_server):
        parser.error("--kubeconfig and --api-server go together: the process is stopped for a while")
    with tempfile.TemporaryDirectory(prefix="trainyard-outage-") as folder:
        result = asyncio.run(measure(Path(folder), given))
    print(json.dumps(result, indent=1))
    sys.exit(not result["well"])


async def measure(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    with world(folder, given.kubeconfig) as made:
        bus = await NatsBus.connect(made.nats.url, source="/bench")
        made.start_launcher()
        await eventually(made.ready, within=120)
        before = await submit(bus, given.jobs // 2)
        await eventually(lambda: made.played.running() >= len(before) * PODS, within=120)
        await asyncio.sleep(10)
        during = await outage(made, bus, given)
        began = time.monotonic()
        await eventually(lambda: made.played.running() >= given.jobs * PODS, within=300)
        recovered = time.monotonic() - began
        await asyncio.sleep(10)
        made.played.finish()
        jobs = [*before, *during]
        await ended(bus, jobs)
        lives = [await life(bus, job) for job in jobs]
        while (logs := await asyncio.to_thread(made.played.stored, made.logs))["missing"]:
            if time.monotonic() - began > 600:
                break
            await asyncio.sleep(1.0)
        objects = await asyncio.to_thread(count, made.kubeconfig, jobs)
        await bus.close()
        await asyncio.to_thread(made.stop_launcher)
    expected = {"Job": 1, "Pod": PODS, "ConfigMap": 1, "Service": 1}
    return {
        "jobs": {"before": len(before), "during": len(during)},
        "seconds_away": given.seconds,
        "all_running_after_s": round(recovered, 1),
        "lives": Counter(" ".join(kinds) for kinds, _ in lives),
        "attempts": Counter(attempt for _, attempt in lives),
        "objects_a_job": {kind: Counter(found) for kind, found in objects.items()},
        "logs": logs,
        "well": all(kinds == LIFE and attempt == 1 for kinds, attempt in lives)
        and all(set(found) == {expected[kind]} for kind, found in objects.items())
        and not logs["missing"],
    }


async def outage(made: World, bus: NatsBus, given: argparse.Namespace) -> list[str]:
    """The jobs that are submitted while it lasts."""
    server = given.api_server or made.double
    assert server is not None
    until = time.monotonic() + given.seconds
    os.kill(server, signal.SIGSTOP)
    try:
        await asyncio.sleep(given.seconds / 4)
        jobs = await submit(bus, given.jobs - given.jobs // 2)
        made.nats.kill()
        await asyncio.sleep(min(NATS_AWAY, given.seconds / 4))
        await asyncio.to_thread(made.nats.start)
        await asyncio.sleep(max(0.0, until - time.monotonic()))
    finally:
        os.kill(server, signal.SIGCONT)
    return jobs


async def life(bus: NatsBus, job: str) -> tuple[list[str], int]:
    """What happened to it, but for its progress; and its last attempt."""
    told = [item.event async for item in bus.history("job", job)]
    return [event.kind for event in told if event.kind != "progress"], told[-1].attempt


def count(kubeconfig: Path, jobs: list[str]) -> dict[str, list[int]]:
    """Of each kind, how many objects each job has."""
    api, found = Api(kubeconfig), {}
    for kind, path in OBJECTS.items():
        items = api.get(path, labelSelector="app.kubernetes.io/managed-by=trainyard").body["items"]
        of = Counter(item["metadata"]["labels"].get("trainyard.dev/job") for item in items)
        found[kind] = [of[job] for job in jobs]
    api.close()
    return found


if __name__ == "__main__":
    main()
