"""The official client, and kubectl where it is installed, on the double: the ways in which the product reaches a cluster."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

from trainyard.cluster_double.kubelet import NodeSpec, ScriptedKubelet, run
from trainyard.cluster_double.server import ClusterDouble, Settings
from trainyard.cluster_double.testing.manifests import a_config, a_job


@pytest.fixture(scope="module")
def double() -> Iterator[ClusterDouble]:
    with ClusterDouble(Settings(bookmark_seconds=0.5)) as running:
        yield running


@pytest.fixture(scope="module")
def kubeconfig(double: ClusterDouble, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return double.kubeconfig(tmp_path_factory.mktemp("config"))


@pytest.fixture
def connection(kubeconfig: Path) -> Iterator[client.ApiClient]:
    made = config.new_client_from_config(str(kubeconfig))
    yield made
    made.rest_client.pool_manager.clear()


def test_a_job_from_its_making_to_its_end(connection: client.ApiClient, kubeconfig: Path) -> None:
    batch, core = client.BatchV1Api(connection), client.CoreV1Api(connection)
    with ScriptedKubelet(kubeconfig, [NodeSpec("n0")]) as kubelet:
        kubelet.plan(run(0.1, lines=["epoch 1", "epoch 2"]), name="train-*")
        made = batch.create_namespaced_job("default", a_job("train"))
        assert made.metadata.generation == 1
        stream = watch.Watch()
        for event in stream.stream(batch.list_namespaced_job, "default", timeout_seconds=30):
            if event["object"].status.succeeded:
                stream.stop()
        found = core.list_namespaced_pod("default", label_selector="job-name=train").items[0]
        assert found.status.phase == "Succeeded"
        assert core.read_namespaced_pod_log(found.metadata.name, "default") == "epoch 1\nepoch 2\n"
    batch.delete_namespaced_job("train", "default", propagation_policy="Background")


def test_faults_arrive_as_exceptions(connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_config_map("none", "default")
    assert (missing.value.status, missing.value.reason) == (404, "Not Found")
    core.create_namespaced_config_map("default", a_config("twice"))
    with pytest.raises(ApiException) as twice:
        core.create_namespaced_config_map("default", a_config("twice"))
    assert twice.value.status == 409
    assert '"reason": "AlreadyExists"' in twice.value.body


def test_a_forgotten_version_is_told_as_410(double: ClusterDouble, connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    version = core.list_namespaced_config_map("default").metadata.resource_version
    core.create_namespaced_config_map("default", a_config("newer"))
    double.faults.expire_history()
    stream = watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=5
    )
    with pytest.raises(ApiException) as gone:
        list(stream)
    assert gone.value.status == 410


def test_the_dynamic_client_finds_everything(connection: client.ApiClient) -> None:
    found = dynamic.DynamicClient(connection)
    configs = found.resources.get(api_version="v1", kind="ConfigMap")
    applied = configs.server_side_apply(
        body=a_config("applied", {"x": "1"}), namespace="default", field_manager="trainyard"
    )
    assert applied.data.x == "1"
    assert found.resources.get(api_version="batch/v1", kind="Job").name == "jobs"


def test_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainyard.cluster_double", "--kubeconfig", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        url, named = program.stdout.readline().strip(), program.stdout.readline().strip()
        try:
            assert named == f"KUBECONFIG={tmp_path / 'kubeconfig'}"
            made = config.new_client_from_config(str(tmp_path / "kubeconfig"))
            assert made.configuration.host == url
            assert client.CoreV1Api(made).read_namespace("default").status.phase == "Active"
            made.rest_client.pool_manager.clear()
        finally:
            program.send_signal(signal.SIGTERM)
        assert program.wait(10) == 0


@pytest.fixture
def kubectl(kubeconfig: Path) -> list[str]:
    found = os.environ.get("TRAINYARD_TEST_KUBECTL") or shutil.which("kubectl")
    if not found:
        pytest.skip("no kubectl here: neither on PATH nor named by TRAINYARD_TEST_KUBECTL")
    return [found, f"--kubeconfig={kubeconfig}", "--cache-dir=" + str(kubeconfig.parent / "cache")]


def test_kubectl(kubectl: list[str], tmp_path: Path) -> None:
    def said(*words: str) -> str:
        done = subprocess.run([*kubectl, *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    manifest = tmp_path / "c.yaml"
    manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ctl}\ndata: {x: '1'}\n")
    assert said("apply", "-f", str(manifest)) == "configmap/ctl created\n"
    manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ctl}\ndata: {z: '2'}\n")
    assert said("apply", "-f", str(manifest)) == "configmap/ctl configured\n"
    assert said("get", "configmap", "ctl", "-o", "jsonpath={.data}") == '{"z":"2"}'
    assert "ctl" in said("get", "cm")
    assert (
        said("apply", "--server-side", "--force-conflicts", "-f", str(manifest)).strip()
        == "configmap/ctl serverside-applied"
    )
    assert "Name:         ctl" in said("describe", "configmap", "ctl")
    assert said("label", "cm", "ctl", "on=yes") == "configmap/ctl labeled\n"
    assert said("get", "cm", "-l", "on=yes", "-o", "name") == "configmap/ctl\n"
    assert said("delete", "cm", "ctl").startswith('configmap "ctl" deleted')
    assert said("auth", "can-i", "create", "pods") == "yes\n"


def test_two_at_once_do_not_lose_writes(connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    core.create_namespaced_config_map("default", a_config("count", {"n": "0"}))

    def add() -> None:
        for _ in range(20):
            while True:
                found = core.read_namespaced_config_map("count", "default")
                found.data["n"] = str(int(found.data["n"]) + 1)
                try:
                    core.replace_namespaced_config_map("count", "default", found)
                    break
                except ApiException as fault:
                    if fault.status != 409:
                        raise

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert core.read_namespaced_config_map("count", "default").data["n"] == "60"
