"""Pods that are there already: of jobs that have ended, which the launcher knows, and of others, which it does not know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trainyard.cluster_double.testing.api import Api
from trainyard.common import ids

CORE = "/api/v1/namespaces/default"
STATUS = {
    "phase": "Succeeded",
    "containerStatuses": [
        {
            "name": "job", "image": "x", "imageID": "x", "restartCount": 0, "ready": False,
            "state": {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-12-01T10:00:00Z"}},
        }
    ],
}  # fmt: skip


def add(kubeconfig: Path, kept: int, foreign: int, pods: int) -> None:
    """`kept` pods of ended jobs with `pods` each."""
    api = Api(kubeconfig)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda index: _ended(api, index, pods), range(kept // pods)))
        list(threads.map(lambda index: api.made(f"{CORE}/pods", _pod(f"foreign-{index}", {})), range(foreign)))
    api.close()


def _ended(api: Api, index: int, pods: int) -> None:
    marks = {"trainyard.dev/job": ids.new_job_id(), "trainyard.dev/attempt": "1"}
    marks["app.kubernetes.io/managed-by"] = "trainyard"
    notes = {"trainyard.dev/ended": "4000000000", "trainyard.dev/keep": "3600"}
    head = {"name": f"ended-{index}", "labels": marks, "annotations": notes}
    api.made(f"{CORE}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head})
    for number in range(pods):
        name = f"ended-{index}-{number}"
        own = {"trainyard.dev/role": "worker", "batch.kubernetes.io/job-completion-index": str(number)}
        api.made(f"{CORE}/pods", _pod(name, {**marks, **own}))
        reply = api.patch(f"{CORE}/pods/{name}/status", {"status": STATUS})
        assert reply.code == 200, reply.text


def _pod(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """Held back by a gate, so that nobody places it."""
    spec = {"schedulingGates": [{"name": "example.com/held"}], "containers": [{"name": "job", "image": "x"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}
