"""How much the cluster double holds: a thousand jobs of ten pods, made over HTTP and played by the scripted kubelet.

    python tests/bench/bench_cluster_double.py [JOBS] [PODS]

Prints seconds by phase, and how the cost of one job grows between the first and the last tenth of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from trainyard.cluster_double.kubelet import NodeSpec, ScriptedKubelet, run
from trainyard.cluster_double.server import ClusterDouble
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_job, requests

PATH = "/apis/batch/v1/namespaces/default/jobs"


def main(jobs: int, pods: int) -> None:
    nodes = [NodeSpec(f"node-{index}", cpu="4000", memory="8Ti", pods=10_000) for index in range(10)]
    with tempfile.TemporaryDirectory() as folder, ClusterDouble() as double:
        kubeconfig = double.kubeconfig(Path(folder))
        api = Api(kubeconfig)
        with ScriptedKubelet(kubeconfig, nodes) as kubelet:
            kubelet.plan(run(0.0))
            began = time.monotonic()
            times = [_submit(api, index, pods) for index in range(jobs)]
            print(f"{jobs} jobs submitted in {time.monotonic() - began:.1f} s")
            tenth = max(1, jobs // 10)
            print(f"one job: {_middle(times[:tenth]):.1f} ms at first, {_middle(times[-tenth:]):.1f} ms at last")
            eventually(lambda: _done(double) == jobs, 900)
            print(f"all {jobs * pods} pods ended after {time.monotonic() - began:.1f} s")
            began = time.monotonic()
            found = api.get("/api/v1/namespaces/default/pods")
            print(
                f"{len(found.names)} pods listed in {time.monotonic() - began:.2f} s, {len(found.text) / 2**20:.0f} MiB"
            )
            began = time.monotonic()
            one = api.get("/api/v1/namespaces/default/pods", labelSelector=f"job-name=j{jobs // 2}")
            print(f"{len(one.names)} pods of one job in {(time.monotonic() - began) * 1000:.1f} ms")
        api.close()


def _submit(api: Api, index: int, pods: int) -> float:
    pod = {"containers": [{"name": "main", "image": "example.com/train:1", **requests(cpu="1")}]}
    body = a_job(f"j{index}", pod=pod, completions=pods, parallelism=pods, completionMode="Indexed")
    began = time.monotonic()
    api.made(PATH, body)
    return time.monotonic() - began


def _middle(times: list[float]) -> float:
    return sorted(times)[len(times) // 2] * 1000


def _done(double: ClusterDouble) -> int:
    def count() -> int:
        found = double.cluster.store.entries("batch/jobs")
        return sum(any(c["type"] == "Complete" for c in job.get("status", {}).get("conditions", ())) for job in found)

    time.sleep(0.2)
    return int(double.call(count))


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given or [1000, 10]))
