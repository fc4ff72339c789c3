"""The objects on a real control plane: admitted as they are, and turned into pods by the Job controller.

Needs neither nodes nor kubelets, but an API server with `--allow-privileged` for one of the tests. Custom kinds are tried by
the Jobs and pods within them, wherever their controllers are.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import APPLY, Api, Refused
from trainyard.launcher.adapters.worker_files import worker_files
from trainyard.launcher.core.cluster.pods import read
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, build, owned
from trainyard.launcher.core.manifests.worker import package

GIVEN = os.environ.get("TRAINYARD_TEST_KUBECONFIG", "")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not GIVEN, reason="TRAINYARD_TEST_KUBECONFIG names no control plane to apply the manifests to"),
]
MODES = [(name, mode) for name, row in FRAMEWORKS.items() for mode in row.modes]
Make = Callable[..., Job]
Admit = Callable[[Job, Cluster], Awaitable[None]]


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    made = await Api.connect(GIVEN)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def namespace(api: Api, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Of the pod security standard that the test names; the API server holds every pod to it."""
    level = getattr(request, "param", "restricted")
    name = f"manifests-{uuid.uuid4().hex[:8]}"
    marks = {"pod-security.kubernetes.io/enforce": level}
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": marks}}
    await api.call("POST", "/api/v1/namespaces", None, document)
    yield name
    await api.call("DELETE", f"/api/v1/namespaces/{name}")


async def admit(api: Api, document: dict[str, Any], namespace: str) -> None:
    """All of admission, nothing stored."""
    document = {**document, "metadata": {**document["metadata"], "namespace": namespace}}
    path = kinds.kind_of(document).path(namespace, document["metadata"]["name"])
    query = {"fieldManager": "test", "force": "true", "dryRun": "All", "fieldValidation": "Strict"}
    await api.call("PATCH", path, query, document, APPLY)


@pytest.fixture
def admitted(api: Api, namespace: str, templates: Callable[[Any], Iterator[Any]]) -> Admit:
    """Raises Refused for the first document that the API server would not take."""

    async def admit_all(job: Job, cluster: Cluster) -> None:
        made = build(job, cluster)
        for document in (made.root, *owned(made, str(uuid.uuid4()))):
            if document["apiVersion"] in {"v1", "batch/v1"}:
                await admit(api, document, namespace)
            for item in document.get("spec", {}).get("replicatedJobs", ()):
                spec = item["template"]["spec"]
                await admit(
                    api, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}, namespace
                )
            for template in templates(document):  # pod security is only a warning in a Job, and an error in a pod
                metadata = {**template["metadata"], "name": "x"}
                spec = {name: value for name, value in template["spec"].items() if name != "priorityClassName"}
                await admit(api, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, namespace)

    return admit_all


@pytest.mark.parametrize("cluster", ["bare", "jobset", "volcano", "kueue"])
@pytest.mark.parametrize(("framework", "mode"), MODES)
async def test_every_framework(
    admitted: Admit, resolved: Make, shaped: Make, clusters: Any, cluster: str, framework: str, mode: str
) -> None:
    await admitted(resolved(**shaped(framework, mode)), clusters[cluster])


@pytest.mark.parametrize(("namespace", "block"), [("restricted",) * 2, ("privileged",) * 2], indirect=["namespace"])
async def test_every_field_of_the_block(
    namespace: str, admitted: Admit, resolved: Make, blocks: Any, block: str
) -> None:
    del namespace
    await admitted(resolved(framework="pytorch", replicas=2, kubernetes=blocks[block]), Cluster())


async def test_what_is_not_restricted_is_refused_here(admitted: Admit, resolved: Make) -> None:
    with pytest.raises(Refused, match="violates PodSecurity"):
        await admitted(resolved(kubernetes={"security": "baseline"}), Cluster())


async def test_the_example_becomes_pods_and_goes_with_its_root(
    api: Api, namespace: str, digits: Callable[..., Job]
) -> None:
    worker = package(worker_files())
    await api.apply(worker.manifest(namespace))
    made = build(digits(replicas=2), Cluster(namespace=namespace, worker=worker.name))
    root = await api.apply(made.root)
    for document in owned(made, root["metadata"]["uid"]):
        await api.apply(document)

    async def pods() -> Any:
        found = (await api.call("GET", kinds.POD.path(namespace)))["items"]
        return found if len(found) == 2 else None

    found = sorted(await eventually(pods, within=30), key=lambda pod: pod["spec"]["hostname"])
    name = made.root["metadata"]["name"]
    for index, pod in enumerate(found):
        assert pod["spec"]["hostname"] == f"{name}-worker-{index}", "the name that the others look for"
        assert pod["spec"]["subdomain"] == name
        seen = read(pod)
        assert (seen.role, seen.index, seen.ranks) == ("worker", index, range(index * 2, index * 2 + 2))
        env = {item["name"]: item for item in pod["spec"]["containers"][0]["env"]}
        assert "JOB_COMPLETION_INDEX" in env
        assert env["MASTER_ADDR"]["value"].startswith(f"{name}-worker-0.{name}.{namespace}.svc.")

    await api.delete(kinds.CONFIG_MAP, namespace, name, root["metadata"]["uid"])

    async def gone() -> bool:
        left = [
            (await api.call("GET", kind.path(namespace)))["items"] for kind in (kinds.JOB, kinds.SERVICE, kinds.POD)
        ]
        return not any(left)

    await eventually(gone, within=60)
