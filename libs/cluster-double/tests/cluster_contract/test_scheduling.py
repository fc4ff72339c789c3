"""Where pods go, and the words for why they go nowhere. The three nodes are in conftest.py."""

from __future__ import annotations

import uuid

import pytest

from trainyard.cluster_double.core.objects import Json, condition
from trainyard.cluster_double.kubelet import Script, ScriptedKubelet, forever
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_pod, requests

pytestmark = pytest.mark.usefixtures("kubelet")
TOLERATES = [{"key": "dedicated", "operator": "Equal", "value": "train", "effect": "NoSchedule"}]


def placed(api: Api, path: str) -> str:
    return eventually(lambda: api.get(path).body["spec"].get("nodeName"))


def refused(api: Api, path: str) -> str:
    found = eventually(lambda: condition(api.get(path).body, "PodScheduled"))
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")
    return str(found["message"])


def on(node: str) -> dict[str, str]:
    return {"kubernetes.io/hostname": node}


def test_a_pod_that_fits_is_bound(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", container=requests(cpu="1")))
    assert placed(api, f"{pods}/a") in {"contract-0", "contract-1"}
    told = condition(api.get(f"{pods}/a").body, "PodScheduled")
    assert told is not None
    assert told["status"] == "True"


def test_a_pod_that_is_too_large_says_so(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", container=requests(cpu="100")))
    message = refused(api, f"{pods}/a")
    assert message.startswith("0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.")
    assert message.endswith("preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")


def test_the_refusal_is_an_event_too(api: Api, ns: str, pods: str) -> None:
    api.made(pods, a_pod("a", container=requests(cpu="100")))
    wanted = "reason=FailedScheduling,involvedObject.name=a"
    found = eventually(lambda: api.get(f"/api/v1/namespaces/{ns}/events", fieldSelector=wanted).body["items"])
    assert found[0]["type"] == "Warning"
    assert found[0]["message"].startswith("0/3 nodes are available")
    assert found[0]["involvedObject"]["kind"] == "Pod"


def test_node_selectors(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeSelector={"accelerator": "a100"}))
    assert placed(api, f"{pods}/a") == "contract-1"
    api.made(pods, a_pod("b", nodeSelector={"accelerator": "h100"}))
    assert "2 node(s) didn't match Pod's node affinity/selector" in refused(api, f"{pods}/b")


def test_node_affinity(api: Api, pods: str) -> None:
    expression = {"key": "accelerator", "operator": "In", "values": ["h100", "a100"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    api.made(pods, a_pod("a", affinity=affinity))
    assert placed(api, f"{pods}/a") == "contract-1"


def test_accelerators(api: Api, kubelet: ScriptedKubelet, pods: str) -> None:
    name = f"gpu-{uuid.uuid4().hex[:8]}"
    kubelet.plan(forever(), name=name)
    api.made(pods, a_pod(name, container=requests(gpu="3")))
    assert placed(api, f"{pods}/{name}") == "contract-1"
    api.made(pods, a_pod("b", container=requests(gpu="2")))
    assert "2 Insufficient nvidia.com/gpu" in refused(api, f"{pods}/b")
    api.delete(f"{pods}/{name}")
    assert placed(api, f"{pods}/b") == "contract-1", "when the first has made room"


def test_taints_need_tolerations(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeSelector=on("contract-2")))
    assert "1 node(s) had untolerated taint(s)" in refused(api, f"{pods}/a")
    api.made(pods, a_pod("b", nodeSelector=on("contract-2"), tolerations=TOLERATES))
    assert placed(api, f"{pods}/b") == "contract-2"


def test_pods_that_keep_apart(api: Api, kubelet: ScriptedKubelet, pods: str) -> None:
    mark = uuid.uuid4().hex[:8]
    kubelet.plan(forever(), labels={"gang": mark})
    term = {"labelSelector": {"matchLabels": {"gang": mark}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for name in ("a", "b"):
        api.made(pods, a_pod(name, labels={"gang": mark}, affinity=affinity))
    assert {placed(api, f"{pods}/a"), placed(api, f"{pods}/b")} == {"contract-0", "contract-1"}
    api.made(pods, a_pod("c", labels={"gang": mark}, affinity=affinity))
    assert "2 node(s) didn't match pod anti-affinity rules" in refused(api, f"{pods}/c")


def test_a_cordoned_node(api: Api, pods: str) -> None:
    try:
        api.patch("/api/v1/nodes/contract-1", {"spec": {"unschedulable": True}})
        eventually(lambda: api.get("/api/v1/nodes/contract-1").body["spec"].get("taints"))
        api.made(pods, a_pod("a", nodeSelector=on("contract-1")))
        assert refused(api, f"{pods}/a").startswith("0/3 nodes are available: ")
    finally:
        api.patch("/api/v1/nodes/contract-1", {"spec": {"unschedulable": None}})
    assert placed(api, f"{pods}/a") == "contract-1"


def test_scheduling_gates(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", schedulingGates=[{"name": "example.com/queue"}]))
    told = eventually(lambda: condition(api.get(f"{pods}/a").body, "PodScheduled"))
    assert told["reason"] == "SchedulingGated"
    api.patch(f"{pods}/a", {"spec": {"schedulingGates": []}})
    assert placed(api, f"{pods}/a")


def test_binding_by_hand(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", schedulerName="example.com-other"))
    binding: Json = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "contract-0"}}
    assert api.post(f"{pods}/a/binding", binding).code == 201
    assert api.get(f"{pods}/a").body["spec"]["nodeName"] == "contract-0"
    again = api.post(f"{pods}/a/binding", binding)
    assert (again.code, again.body["reason"]) == (409, "Conflict")
    assert api.post(f"{pods}/a/binding", {"metadata": {"name": "other"}}).code == 400


def test_the_important_push_out_the_others(api: Api, kubelet: ScriptedKubelet, pods: str, important: str) -> None:
    victim = f"victim-{uuid.uuid4().hex[:8]}"
    kubelet.plan(Script(run_seconds=None, stop_seconds=2.0), name=victim)
    api.made(pods, a_pod(victim, container=requests(gpu="4")))
    placed(api, f"{pods}/{victim}")
    wanted = a_pod("urgent", container=requests(gpu="4"), priorityClassName=important)
    eventually(lambda: api.post(pods, wanted).code == 201)

    def pushed() -> Json | None:
        reply = api.get(f"{pods}/{victim}")
        return condition(reply.body, "DisruptionTarget") if reply.code == 200 else None

    told = eventually(pushed)
    assert told["reason"] == "PreemptionByScheduler"
    assert told["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert placed(api, f"{pods}/urgent") == "contract-1"
