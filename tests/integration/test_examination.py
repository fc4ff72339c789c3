"""`yard doctor --kubernetes` over the API server's double: the command as people run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.server import ClusterDouble, Settings
from trainyard.common.loopback import free_port
from trainyard.common.runtime.settings import EXIT_CONFIGURATION
from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.nats_server import NatsServer

pytestmark = [pytest.mark.integration, pytest.mark.cluster]
NODES = [
    NodeSpec("g0", more={"nvidia.com/gpu": "4"}, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}),
    NodeSpec("a0", labels={"feature.node.kubernetes.io/pci-1200_19e5.present": "true"}),
]


def yard(tmp_path: Path, *words: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
    named = {"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}
    env = {**os.environ, "TRAINYARD_STATE": str(tmp_path / "yard"), "HOME": str(tmp_path), **named}
    command = [sys.executable, "-m", "trainyard.client", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False, cwd=tmp_path)


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    assert not done.stderr
    return {item["subject"]: item for item in json.loads(done.stdout)["findings"]}


async def test_the_cluster_is_looked_at_beside_the_machine(tmp_path: Path) -> None:
    denied = frozenset({("", "pods/log", "get"), ("batch", "jobs", "create")})
    with ClusterDouble(Settings(denied=denied)) as double:
        kubeconfig = double.kubeconfig(tmp_path)
        with ScriptedKubelet(kubeconfig, NODES):

            async def look() -> dict[str, dict[str, Any]] | None:
                done = yard(tmp_path, "doctor", "--kubernetes", "--json", kubeconfig=kubeconfig)
                assert done.returncode == 1  # a right that is denied, and a device without its plugin
                found = findings(done)
                return found if found["nodes"]["text"].startswith("2 of 2") else None

            found = await eventually(look)
    assert found["python"]["level"] == "ok"
    assert found["rights"]["text"] == "this account may not: get pods/log, create jobs.batch"
    assert found["accelerators"]["text"] == "4 nvidia.com/gpu"
    assert "Huawei" in found["node a0"]["text"]
    assert "GPU products" not in found


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--kubeconfig", "nowhere"], 4, "KUBECONFIG: there is no file nowhere"),
        (["--kubeconfig", "empty"], 4, "KUBECONFIG: empty is empty (it lists clusters, users and contexts;"),
        (["--kubeconfig", "helper"], 4, "KUBECONFIG: helper has no credentials for 'tester': false process returned 1"),
        (["--context", "other"], 4, "has no context 'other' (there are: double)"),
        ([], 5, "the API server does not answer"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_one_sentence(
    tmp_path: Path, words: list[str], code: int, sentence: str
) -> None:
    with ClusterDouble() as double:
        kubeconfig = double.kubeconfig(tmp_path)
    (tmp_path / "empty").touch()
    helper = {"command": "false", "apiVersion": "client.authentication.k8s.io/v1"}
    document = {**yaml.safe_load(kubeconfig.read_text()), "users": [{"name": "tester", "user": {"exec": helper}}]}
    (tmp_path / "helper").write_text(yaml.safe_dump(document))
    done = yard(tmp_path, "doctor", "--kubernetes", *words, kubeconfig=kubeconfig)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_credentials_that_the_cluster_does_not_know(tmp_path: Path) -> None:
    with ClusterDouble() as double:
        double.faults.answer(401, matching="GET /apis")
        kubeconfig = double.kubeconfig(tmp_path)
        done = yard(tmp_path, "doctor", "--kubernetes", kubeconfig=kubeconfig)
    assert done.returncode == 7
    assert f"does not accept the credentials of user 'tester' of {kubeconfig}" in " ".join(done.stderr.split())


def test_a_launcher_does_not_start_with_such_a_kubeconfig(tmp_path: Path, nats_server: NatsServer) -> None:
    (tmp_path / "config").write_text("- a list")
    env = {
        **os.environ,
        "TRAINYARD_STATE": str(tmp_path / "yard"),
        "TRAINYARD_BACKEND": "kubernetes",
        "TRAINYARD_BASE_PORT": str(free_port()),
        "KUBECONFIG": str(tmp_path / "config"),
        "NATS_URL": nats_server.url,
    }
    command = [sys.executable, "-m", "trainyard.launcher"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == EXIT_CONFIGURATION
    words = f"launcher: KUBECONFIG: {tmp_path}/config is no kubeconfig but a list ("
    assert done.stderr.splitlines()[-1].startswith(words)  # the line that `yard up` shows
    assert "Traceback" not in done.stderr
