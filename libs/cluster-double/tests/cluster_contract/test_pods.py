"""Pods on nodes: how they start, run, end, are evicted and lose their node; moved by the scripted kubelet."""

from __future__ import annotations

import uuid

import pytest

from trainyard.cluster_double.core.objects import Json, condition, has_condition
from trainyard.cluster_double.kubelet import (
    NodeSpec,
    Script,
    ScriptedKubelet,
    bad_image,
    forever,
    out_of_memory,
    pushed_out,
    run,
)
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_pod


@pytest.fixture
def name() -> str:
    return f"pod-{uuid.uuid4().hex[:8]}"


def phase(api: Api, path: str, wanted: str) -> Json:
    eventually(lambda: api.get(path).body["status"]["phase"] == wanted)
    return api.get(path).body


def state(pod: Json) -> Json:
    found: Json = pod["status"]["containerStatuses"][0]["state"]
    return found


def test_a_pod_runs_and_succeeds(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=name)
    api.made(pods, a_pod(name))
    running = phase(api, f"{pods}/{name}", "Running")
    assert has_condition(running, "Ready")
    assert running["status"]["podIP"]
    assert state(running)["running"]["startedAt"]
    kubelet.finish(running["metadata"]["namespace"], name)
    ended = phase(api, f"{pods}/{name}", "Succeeded")
    assert state(ended)["terminated"]["exitCode"] == 0
    assert state(ended)["terminated"]["reason"] == "Completed"
    assert not has_condition(ended, "Ready")


def test_an_exit_code(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(run(exit_code=7), name=name)
    api.made(pods, a_pod(name))
    ended = state(phase(api, f"{pods}/{name}", "Failed"))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (7, "Error")


def test_out_of_memory(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(out_of_memory(), name=name)
    api.made(pods, a_pod(name))
    ended = state(phase(api, f"{pods}/{name}", "Failed"))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


def test_an_image_that_is_not_there(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(bad_image(), name=name)
    api.made(pods, a_pod(name))
    eventually(lambda: api.get(f"{pods}/{name}").body["status"].get("containerStatuses"))
    pod = api.get(f"{pods}/{name}").body
    assert pod["status"]["phase"] == "Pending"
    assert state(pod)["waiting"]["reason"] == "ImagePullBackOff"
    api.delete(f"{pods}/{name}")
    eventually(lambda: api.get(f"{pods}/{name}").code == 404)


def test_restarts_in_place(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(run(exit_code=1), name=name)
    api.made(pods, a_pod(name, restartPolicy="OnFailure"))

    def restarted() -> Json | None:
        statuses = api.get(f"{pods}/{name}").body["status"].get("containerStatuses")
        return statuses[0] if statuses and statuses[0]["restartCount"] >= 2 else None

    found = eventually(restarted)
    assert found["lastState"]["terminated"]["exitCode"] == 1
    assert api.get(f"{pods}/{name}").body["status"]["phase"] == "Running"


def test_a_deletion_is_obeyed(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=name)
    api.made(pods, a_pod(name))
    phase(api, f"{pods}/{name}", "Running")
    assert api.delete(f"{pods}/{name}").body["metadata"]["deletionGracePeriodSeconds"] == 30
    eventually(lambda: api.get(f"{pods}/{name}").code == 404)


def test_a_deletion_that_is_ignored_takes_the_grace_period(
    api: Api, kubelet: ScriptedKubelet, pods: str, name: str
) -> None:
    kubelet.plan(Script(run_seconds=None, stop_seconds=None), name=name)
    api.made(pods, a_pod(name, terminationGracePeriodSeconds=2))
    phase(api, f"{pods}/{name}", "Running")
    api.delete(f"{pods}/{name}")
    assert api.get(f"{pods}/{name}").body["metadata"]["deletionTimestamp"]
    eventually(lambda: api.get(f"{pods}/{name}").code == 404)


def test_pressure_on_the_node(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(pushed_out(), name=name)
    api.made(pods, a_pod(name))
    pod = phase(api, f"{pods}/{name}", "Failed")
    assert pod["status"]["reason"] == "Evicted"
    told = condition(pod, "DisruptionTarget")
    assert told is not None
    assert told["reason"] == "TerminationByKubelet"


def test_eviction_by_the_api(api: Api, kubelet: ScriptedKubelet, pods: str, name: str) -> None:
    kubelet.plan(Script(run_seconds=None, stop_seconds=1.5), name=name)
    api.made(pods, a_pod(name))
    phase(api, f"{pods}/{name}", "Running")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    assert api.post(f"{pods}/{name}/eviction", eviction).code == 201
    pod = api.get(f"{pods}/{name}").body
    told = condition(pod, "DisruptionTarget")
    assert told is not None
    assert told["reason"] == "EvictionByEvictionAPI"
    assert pod["metadata"]["deletionTimestamp"]
    eventually(lambda: api.get(f"{pods}/{name}").code == 404)


def test_a_budget_refuses_evictions(api: Api, kubelet: ScriptedKubelet, ns: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}*")
    for pod in (name, f"{name}-b"):
        api.made(pods, a_pod(pod, labels={"gang": name}))
        phase(api, f"{pods}/{pod}", "Running")
    budgets = f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"gang": name}}}
    api.made(budgets, {"metadata": {"name": "gang"}, "spec": spec})
    eventually(lambda: api.get(f"{budgets}/gang").body["status"]["currentHealthy"] == 2)
    status = api.get(f"{budgets}/gang").body["status"]
    assert (status["desiredHealthy"], status["disruptionsAllowed"], status["expectedPods"]) == (2, 0, 2)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    reply = api.post(f"{pods}/{name}/eviction", eviction)
    assert (reply.code, reply.body["reason"]) == (429, "TooManyRequests")
    assert reply.causes == [
        {"reason": "DisruptionBudget", "message": "The disruption budget gang needs 2 healthy pods and has 2 currently"}
    ]


def test_a_lost_node(api: Api, kubelet: ScriptedKubelet, cluster, pods: str, name: str) -> None:
    node = f"contract-lost-{uuid.uuid4().hex[:6]}"
    unreachable = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    with ScriptedKubelet(cluster.kubeconfig, [NodeSpec(node)]) as lost:
        lost.plan(forever())
        api.made(pods, a_pod(name, nodeName=node, tolerations=[{**unreachable, "tolerationSeconds": 0}]))
        api.made(pods, a_pod(f"{name}-patient", nodeName=node))
        for pod in (name, f"{name}-patient"):
            phase(api, f"{pods}/{pod}", "Running")
        lost.lose(node)
        taints = {("node.kubernetes.io/unreachable", "NoSchedule"), ("node.kubernetes.io/unreachable", "NoExecute")}
        eventually(
            lambda: (
                taints
                <= {(t["key"], t["effect"]) for t in api.get(f"/api/v1/nodes/{node}").body["spec"].get("taints") or ()}
            ),
            60,
        )
        eventually(lambda: api.get(f"{pods}/{name}").body["metadata"].get("deletionTimestamp"), 60)
        told = condition(api.get(f"{pods}/{name}").body, "DisruptionTarget")
        assert told is not None
        assert told["reason"] == "DeletionByTaintManager"
        eventually(lambda: not has_condition(api.get(f"{pods}/{name}-patient").body, "Ready"), 60)
        assert "deletionTimestamp" not in api.get(f"{pods}/{name}-patient").body["metadata"]
        lost.recover(node)
        eventually(lambda: api.get(f"{pods}/{name}").code == 404, 60)
