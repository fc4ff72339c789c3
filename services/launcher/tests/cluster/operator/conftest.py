"""A gateway beside the launcher, so that its operator has somebody to ask."""

from __future__ import annotations

from typing import Any

import httpx
import pytest_asyncio

from trainyard.common import ids
from trainyard.common.bus.port import Request
from trainyard.common.contract import crd, events
from trainyard.common.contract.commands import Answer, CancelJob, ResizeJob, SubmitJob
from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.resizing import resized
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.transitions import allows, fold
from trainyard.common.testing.eventually import eventually

MERGE = "application/merge-patch+json"
IMAGE = "registry.example.com/pytorch@sha256:" + "a" * 64
PATH = "/apis/trainyard.dev/v1alpha1/namespaces/default/trainingjobs"


class Gateway:
    """The gateway's part: it validates, knows a key again, and the matrix answers at once."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.jobs: dict[str, str] = {}
        self.owners: set[str | None] = set()
        self.resizes: list[tuple[str, int]] = []

    async def submit(self, request: Request) -> Answer:
        command = request.command
        assert isinstance(command, SubmitJob)
        spec = validate(JobSpec, command.spec)
        key = str(command.idempotency_key)
        self.owners.add(command.owner)
        if key not in self.jobs:
            job = self.jobs[key] = ids.keyed("job", str(command.owner), key)
            bus = self._cluster.bus
            seq = await bus.append(events.JobSubmitted(job_id=job, spec=spec), after=0)
            resolution = events.Resolution(image="pytorch", reference=IMAGE)
            await bus.append(events.JobResolved(job_id=job, spec=spec, resolution=resolution), after=seq)
        return Answer(status=201, body={"job_id": self.jobs[key], "state": "submitted"})

    async def cancel(self, request: Request) -> Answer:
        assert isinstance(request.command, CancelJob)
        job = request.command.job_id
        told = await self._cluster.bus.latest("job", job)
        if allows(fold(job, ((item.seq, item.event) for item in told)), events.JobCancelling.kind):
            await self._cluster.cancel(job)
        return Answer(status=202, body={})

    async def resize(self, request: Request) -> Answer:
        command = request.command
        assert isinstance(command, ResizeJob)
        role, replicas = str(command.role), command.replicas
        self.resizes.append((role, replicas))
        try:
            told = await self._cluster.bus.latest("job", command.job_id)
            resized(next(item.event.spec for item in told if item.event.kind == "submitted"), role, replicas)
        except InvalidInput as error:
            return Answer(status=422, body={"detail": str(error)})
        size = {"role": role, "before": 0, "replicas": replicas, "roles": {role: replicas}}
        await self._cluster.tell(command.job_id, events.JobResized, number=len(self.resizes), by=request.source, **size)
        return Answer(status=202, body={})

    # What follows is what somebody with kubectl does.

    def apply(self, name: str = "digits", **spec: Any) -> None:
        base: dict[str, Any] = {"framework": "pytorch", "command": "python train.py", "timeouts": {"grace": 1}}
        self._cluster.apply({
            "apiVersion": "trainyard.dev/v1alpha1",
            "kind": "TrainingJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {**base, **spec},
        })  # fmt: skip

    def remove(self, name: str = "digits") -> None:
        self._cluster.call("DELETE", f"{PATH}/{name}")

    async def state(self, wanted: str, name: str = "digits") -> dict[str, Any]:
        def look() -> Any:
            status = self._cluster.call("GET", f"{PATH}/{name}").get("status", {})
            return status if status.get("state") == wanted else None

        try:
            found: dict[str, Any] = await eventually(look, within=30)
        except AssertionError:
            raise AssertionError(self._cluster.call("GET", f"{PATH}/{name}").get("status")) from None
        return found

    async def nothing_left(self) -> None:
        await eventually(lambda: self._cluster.call("GET", PATH)["items"] == [], within=30)


@pytest_asyncio.fixture
async def gateway(cluster: Any) -> Gateway:
    made = Gateway(cluster)
    cluster.apply(crd.document())
    await eventually(lambda: there(cluster))
    for item in cluster.call("GET", PATH)["items"]:  # of an earlier run, on a control plane that stays
        cluster.call("PATCH", f"{PATH}/{item['metadata']['name']}", {"metadata": {"finalizers": []}}, MERGE)
        cluster.remove("TrainingJob", item["metadata"]["name"])
    await cluster.bus.serve({"job.submit": made.submit, "job.cancel": made.cancel, "job.resize": made.resize})
    await cluster.kill()
    await cluster.start()  # a launcher looks once, when it starts, whether the resource exists
    return made


def there(cluster: Any) -> bool:
    """Whether the API server serves the resource already."""
    try:
        cluster.call("GET", PATH)
    except httpx.HTTPStatusError:
        return False
    return True
