"""The chart's pods at work: a TrainingJob is applied, runs, ends, and its log comes through the gateway.

On the double, and with TRAINYARD_TEST_KUBECONFIG on that control plane: there the launcher has the rights of the chart's
ServiceAccount and no others. There is no kubelet: the services are processes, the job's pods are scripted.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.deploy.conftest import PIN, Document, Render
from tests.deploy.pods_as_processes import Pods

from trainyard.client.sdk import Yard
from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.kubelet.script import run
from trainyard.cluster_double.server import ClusterDouble
from trainyard.common.errors import Unauthorized
from trainyard.common.runtime.settings import SERVICES, service_port
from trainyard.common.testing.yard import free_block

pytestmark = [pytest.mark.e2e, pytest.mark.cluster]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ServiceAccount": "/api/v1/namespaces/trainyard/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "RoleBinding": f"{RBAC}/namespaces/trainyard-jobs/rolebindings",
}
ON_THE_DOUBLE = ("Namespace", "CustomResourceDefinition")
"""It knows no accounts and allows everything."""
JOBS = "/apis/trainyard.dev/v1alpha1/namespaces/trainyard-jobs/trainingjobs"
TRAINING_JOB: Document = {
    "apiVersion": "trainyard.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "trainyard-jobs"},
    "spec": {"framework": "pytorch", "command": ["python", "train.py"], "replicas": 2},
}


class Api:
    """An administrator."""

    def __init__(self, kubeconfig: Path) -> None:
        self.config = yaml.safe_load(kubeconfig.read_text())
        token = self.config["users"][0]["user"].get("token", "")
        server = self.config["clusters"][0]["cluster"]["server"]
        # A control plane on loopback, with a certificate of its own.
        self.http = httpx.Client(base_url=server, headers={"Authorization": f"Bearer {token}"}, verify=False)  # noqa: S501

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        content = json.dumps(body) if body is not None else None
        answer = self.http.request(method, path, content=content, headers={"Content-Type": kind})
        assert answer.is_success, answer.text
        return answer.json()

    def apply(self, document: Document, path: str) -> None:
        query = "fieldManager=test&force=true"
        self.call("PATCH", f"{path}/{document['metadata']['name']}?{query}", document, "application/apply-patch+yaml")

    def kubeconfig_of(self, account: str, folder: Path) -> Path:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        made = self.call("POST", f"{PATHS['ServiceAccount']}/{account}/token", body)
        config = {**self.config, "users": [{**self.config["users"][0], "user": {"token": made["status"]["token"]}}]}
        (folder / "launcher-kubeconfig").write_text(yaml.safe_dump(config))
        return folder / "launcher-kubeconfig"


@pytest.fixture(scope="module", params=[[], ["trainyard-jobs"]], ids=["everywhere", "one-namespace"])
def installed(
    request: pytest.FixtureRequest, render: Render, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Api, ScriptedKubelet, Pods]]:
    folder = tmp_path_factory.mktemp("installed")
    real = os.environ.get("TRAINYARD_TEST_KUBECONFIG")
    documents = render(
        {
            "images": {"pytorch-cpu": PIN},
            "persistence": {"outputs": {"enabled": False}},
            "launcher": {"namespaces": request.param},
        }
    )
    with ExitStack() as stack:
        double = None if real else stack.enter_context(ClusterDouble())
        kubeconfig = Path(str(real)) if double is None else double.kubeconfig(folder)
        api = Api(kubeconfig)
        stack.callback(api.http.close)
        own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "trainyard"}}
        for document in sorted(
            (own, *documents), key=lambda item: list(PATHS).index(item["kind"]) if item["kind"] in PATHS else 99
        ):
            if document["kind"] in (PATHS if real else ON_THE_DOUBLE):
                api.apply(document, PATHS[document["kind"]])
        if real and request.param:  # what the run before has given in the whole cluster
            for part in ("jobs", "gangs"):
                api.http.delete(f"{PATHS['ClusterRoleBinding']}/trainyard-launcher-{part}")
        rights = api.kubeconfig_of("trainyard-launcher", folder) if real else kubeconfig
        kubelet = stack.enter_context(ScriptedKubelet(kubeconfig, [NodeSpec("node-0")]))
        pods = Pods(folder, documents, free_block(len(SERVICES) + 1), rights, "p-not-a-secret")
        stack.callback(pods.stop)
        pods.start()
        yield api, kubelet, pods


def test_an_applied_job_ends_and_its_log_comes_through_the_gateway(installed: Any) -> None:
    api, kubelet, pods = installed
    kubelet.plan(run(0.5, lines=["epoch 1"]))
    api.apply(TRAINING_JOB, JOBS)
    try:
        status = eventually(lambda: _ended(api), f"no end: {pods.said('launcher')}")
        assert status["state"] == "succeeded", status
        with Yard(f"http://127.0.0.1:{service_port('job-api', pods.base)}", pods.token) as gateway:
            job = gateway.job(status["jobId"])
            assert (job.owner, (job.resolution or {})["reference"]) == ("kubernetes/trainyard-jobs", PIN)
            assert [line["text"] for line in gateway.follow_logs(job.job_id)] == ["epoch 1", "epoch 1"]
    finally:
        api.call("DELETE", f"{JOBS}/digits")
        eventually(lambda: api.http.get(f"{JOBS}/digits").status_code == 404, "the resource stays")


def test_a_token_that_the_secret_does_not_hold_is_refused(installed: Any) -> None:
    _, _, pods = installed
    with (
        Yard(f"http://127.0.0.1:{service_port('job-api', pods.base)}", "yard_another") as gateway,
        pytest.raises(Unauthorized),
    ):
        gateway.jobs()


def test_the_panel_reaches_the_gateway(installed: Any) -> None:
    _, _, pods = installed
    url = f"http://127.0.0.1:{service_port('monitor', pods.base)}/api/v1/templates"
    assert httpx.get(url, headers={"Authorization": f"Bearer {pods.token}"}).json()["templates"]


def _ended(api: Api) -> Any:
    status = api.call("GET", f"{JOBS}/digits").get("status") or {}
    return status if status.get("endedAt") else None


def eventually(look: Callable[[], Any], otherwise: str, within: float = 60) -> Any:
    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.1)
    return found
