"""What a pod's status is read as. Each row is a status as the API server gives it; the numbers are rows of the fault list."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.cluster.pods import read
from trainyard.launcher.core.cluster.words import unschedulable

NOW = "2026-12-01T10:00:00Z"
AT = 1796119200.0


def pod(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "digits-worker-0-abcde",
            "namespace": "ml",
            "uid": "u1",
            "creationTimestamp": NOW,
            "labels": {
                "trainyard.dev/job": "j",
                "trainyard.dev/attempt": "2",
                "trainyard.dev/role": "worker",
                "batch.kubernetes.io/job-completion-index": "3",
            },
        },
        "spec": {"nodeName": "node-a"},
        "status": status,
    }


def ended(code: int, reason: str = "Error", **more: Any) -> list[dict[str, Any]]:
    return [{"name": "job", "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": NOW, **more}}}]


def disrupted(reason: str) -> list[dict[str, Any]]:
    return [{"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": NOW}]


def waiting(reason: str, message: str = "", kind: str = "container", name: str = "job") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {f"{kind}Statuses": [{"name": name, "state": state}]}


def placed(status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": status, "reason": reason, "message": message}]}


SCHEDULER = (
    "0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint {a: b}. "
    "preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."
)


def test_who_it_is() -> None:
    found = read(pod(phase="Running", containerStatuses=[{"name": "job", "state": {"running": {}}}]))
    assert (found.job_id, found.attempt, found.role, found.index, found.node) == ("j", 2, "worker", 3, "node-a")
    assert (found.running, found.over, found.created) == (True, False, AT)


@pytest.mark.parametrize(
    ("status", "reason", "code", "signal"),
    [
        ({"phase": "Succeeded", "containerStatuses": ended(0, "Completed")}, None, 0, None),
        ({"phase": "Failed", "containerStatuses": ended(3)}, None, 3, None),
        ({"phase": "Failed", "containerStatuses": ended(139)}, None, 139, 11),
        # 6, 7: out of memory is a reason of its own, whatever the code
        ({"phase": "Failed", "containerStatuses": ended(137, "OOMKilled")}, EndReason.OOM, 137, 9),
        ({"phase": "Succeeded", "containerStatuses": ended(0, "OOMKilled")}, EndReason.OOM, 0, None),
        # 9: an evicted pod has no exit code
        ({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}, EndReason.EVICTED, None, None),
        # 12, 13: a lost node and preemption are announced before the pod has ended
        ({"phase": "Running", "conditions": disrupted("DeletionByTaintManager")}, EndReason.NODE_LOST, None, None),
        (
            {"phase": "Failed", "conditions": disrupted("PreemptionByScheduler"), "containerStatuses": ended(143)},
            EndReason.PREEMPTED, 143, 15,
        ),
        (
            {"phase": "Failed", "conditions": disrupted("EvictionByEvictionAPI"), "containerStatuses": ended(143)},
            EndReason.EVICTED, 143, 15,
        ),
        ({"phase": "Failed", "conditions": disrupted("DeletionByPodGC")}, EndReason.NODE_LOST, None, None),
        # it was done before it was told to make room
        (
            {"phase": "Succeeded", "conditions": disrupted("PreemptionByScheduler"), "containerStatuses": ended(0)},
            None, 0, None,
        ),
        ({"phase": "Failed", "containerStatuses": ended(128, "StartError")}, EndReason.START, 128, None),
        ({"phase": "Failed", "reason": "NodeShutdown"}, EndReason.NODE_LOST, None, None),
        (
            {"phase": "Failed", "initContainerStatuses": [{"name": "fetch", "state": {"terminated": {"exitCode": 1}}}]},
            EndReason.INIT_FAILED, None, None,
        ),
        ({"phase": "Failed"}, EndReason.LOST, None, None),
    ],
)  # fmt: skip
def test_how_it_ended(status: dict[str, Any], reason: EndReason | None, code: int | None, signal: int | None) -> None:
    found = read(pod(**status))
    assert found.over
    assert (found.reason, found.code, found.signal) == (reason, code, signal)


def test_25_a_sidecar_that_goes_on_keeps_nobody_waiting() -> None:
    found = read(
        pod(phase="Running", containerStatuses=[*ended(0, "Completed"), {"name": "proxy", "state": {"running": {}}}])
    )
    assert found.over
    assert found.code == 0


def test_a_sidecar_that_ended_first_decides_nothing() -> None:
    ended_proxy = {"name": "proxy", "state": {"terminated": {"exitCode": 1}}}
    found = read(pod(phase="Running", containerStatuses=[ended_proxy, {"name": "job", "state": {"running": {}}}]))
    assert found.running
    assert not found.over


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (
            placed("False", "Unschedulable", SCHEDULER),
            EndReason.UNSCHEDULABLE, "0/5 nodes: 3 lack nvidia.com/gpu, 2 tainted (a: b)",
        ),
        (placed("False", "SchedulingGated"), None, "it is held back until all of the job can start"),
        (waiting("ImagePullBackOff", "Back-off pulling\nmore"), EndReason.IMAGE_PULL, "ImagePullBackOff: Back-off pulling"),
        (
            waiting("CreateContainerConfigError", "secret s3 not found"),
            EndReason.START, "CreateContainerConfigError: secret s3 not found",
        ),
        (
            waiting("CrashLoopBackOff", kind="initContainer", name="fetch"),
            EndReason.INIT_FAILED, "container fetch: it fails again and again",
        ),
        (placed("True"), None, "its container is being made"),
        ({}, None, "it waits for the scheduler"),
    ],
)  # fmt: skip
def test_why_it_does_not_run_yet(status: dict[str, Any], reason: EndReason | None, words: str) -> None:
    found = read(pod(phase="Pending", **status))
    assert not found.over
    assert found.pending is not None
    assert (found.pending.reason, found.pending.message) == (reason, words)


def test_the_runner_tells_of_each_process() -> None:
    text = '{"ranks":[{"rank":7,"code":1,"rss":1000,"cpu":2.5},{"rank":6,"signal":15}]}'
    ends = dict(read(pod(phase="Failed", containerStatuses=ended(1, message=text))).ends)
    assert (ends[7].code, ends[7].max_rss, ends[6].signal) == (1, 1000, 15)


@pytest.mark.parametrize(
    "text",
    [
        "", "it broke", "[]", '{"ranks": 3}', '{"ranks": [{"code": 1}]}', "[" * 4096, '{"ranks": [{"rank": 1e999}]}',
        '{"ranks": [{"rank": 0, "code": "1"}]}', '{"ranks": [{"rank": 0, "signal": [9]}]}',
        '{"ranks": [{"rank": 0, "cpu": 1e999}]}', '{"ranks": [{"rank": 0, "rss": -1}]}',
    ],
)  # fmt: skip
def test_what_a_command_of_its_own_writes_there_is_harmless(text: str) -> None:
    assert read(pod(phase="Failed", containerStatuses=ended(1, message=text))).ends == ()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("0/3 nodes are available: 3 node(s) were unschedulable.", "0/3 nodes: 3 closed for new pods"),
        (
            "0/4 nodes are available: 1 Too many pods, 3 node(s) didn't match Pod's node affinity/selector. no new claims",
            "0/4 nodes: 1 full of pods, 3 without the labels that are asked for",
        ),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
        ("", "no node takes it"),
    ],
)
def test_the_schedulers_words(message: str, words: str) -> None:
    assert unschedulable(message) == words


@pytest.mark.parametrize("text", ["²/1", "0/²", "0/" + "9" * 5000, "0/999999999", "-1/-1", "/"])
def test_an_annotation_that_somebody_wrote_over_is_harmless(text: str) -> None:
    document = pod(phase="Running")
    document["metadata"]["annotations"] = {"trainyard.dev/ranks": text}
    assert 1 <= len(read(document).ranks) <= 1024


def test_volcano_says_the_index_its_own_way() -> None:
    document = pod(phase="Pending")
    del document["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]
    document["metadata"]["annotations"] = {"volcano.sh/task-index": "2", "trainyard.dev/ranks": "4/2"}
    found = read(document)
    assert (found.index, found.ranks) == (2, range(8, 10))


FULL = "The node was low on resource: ephemeral-storage. Container job was using 9Gi, has larger consumption of it."
GREEDY = "The node was low on resource: memory. Container job was using 9Gi, has larger consumption of memory."
SMALL = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."


@pytest.mark.parametrize(
    ("status", "of_node"),
    [
        ({"phase": "Failed", "conditions": disrupted("DeletionByTaintManager")}, True),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no healthy devices present"}, True),
        ({"phase": "Failed", "reason": "Evicted", "message": FULL}, True),
        ({"phase": "Failed", "reason": "Evicted", "message": GREEDY}, False),
        ({"phase": "Failed", "reason": "Evicted", "message": SMALL}, False),
        ({"phase": "Failed", "reason": "Evicted", "conditions": disrupted("TerminationByKubelet")}, True),
        ({"phase": "Failed", "reason": "Preempting", "conditions": disrupted("TerminationByKubelet")}, False),
        ({"phase": "Failed", "conditions": disrupted("EvictionByEvictionAPI")}, False),
        ({"phase": "Failed", "conditions": disrupted("PreemptionByScheduler")}, False),
        ({"phase": "Failed", "reason": "OutOfcpu"}, False),
        ({"phase": "Failed"}, True),
        ({"phase": "Failed", "containerStatuses": ended(1)}, False),
        ({"phase": "Succeeded", "containerStatuses": ended(0)}, False),
    ],
)
def test_whether_its_node_is_to_blame(status: dict[str, Any], of_node: bool) -> None:
    assert read(pod(**status)).of_node is of_node
