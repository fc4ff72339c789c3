"""What the cluster's events are read as: messages as a real control plane and its kubelets write them."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.cluster.notices import explain, read, refused, roots
from trainyard.launcher.core.cluster.pods import Pod
from trainyard.launcher.core.observation import Pending

ROOT = "digits-k3m9q7rt-2"
NOW = "2026-12-01T10:00:00Z"
AT = 1796119200.0


def event(reason: str, message: str, name: str = f"{ROOT}-worker", at: str = NOW) -> dict[str, Any]:
    about = {"kind": "Job", "namespace": "ml", "name": name, "uid": "u"}
    return {
        "metadata": {"name": f"{name}.1", "namespace": "ml", "creationTimestamp": at},
        "involvedObject": about, "reason": reason, "message": message, "type": "Warning",
        "firstTimestamp": at, "lastTimestamp": at, "eventTime": None,
    }  # fmt: skip


def waiting(pending: Pending, node: str = "n0") -> Pod:
    name = f"{ROOT}-worker-0-abcde"
    return Pod(name, "ml", "u", "j", 2, "worker", 0, node, AT, pending=pending)


@pytest.mark.parametrize(
    ("says", "reason", "permanent"),
    [
        ('pods "x-0-scplk" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0', "quota", False),
        ('pods "x-0-52g8x" is forbidden: failed quota: q: must specify requests.cpu for: job', "refused", True),
        ('pods "x-0-1" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true', "refused", True),
        ('pods "x-0-1" is forbidden: maximum cpu usage per Container is 1, but limit is 3', "refused", True),
        ('admission webhook "images.example.com" denied the request: unsigned image', "refused", True),
        ("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", "refused", True),
        ('Pod "x-0-1" is invalid: spec.containers[0].image: Required value', "refused", True),
        ('Internal error occurred: failed calling webhook "w": Post "https://w": context deadline exceeded', None, False),
        ('pods "x-0-1" is forbidden: error looking up service account ml/a: serviceaccount "a" not found', "start", False),
        ("something new", None, False),
    ],
)  # fmt: skip
def test_22_why_no_pods_are_made(says: str, reason: str | None, permanent: bool) -> None:
    notice = read(event("FailedCreate", f"Error creating: {says}"))
    assert notice is not None
    pending = refused([notice])
    assert pending is not None
    assert (pending.reason, pending.permanent, pending.since) == (EndReason(reason) if reason else None, permanent, AT)


def test_the_same_is_told_once_though_each_try_names_another_pod() -> None:
    says = "is forbidden: exceeded quota: q, requested: pods=1"
    first, second = (
        read(event("FailedCreate", f'{start}Error creating: pods "x-0-{name}" {says}', at=at))
        for start, name, at in (
            ("", "aaaaa", NOW),
            ("(combined from similar events): ", "bbbbb", "2026-12-01T10:05:00Z"),
        )
    )
    assert first is not None
    assert second is not None
    one, both = refused([first]), refused([first, second])
    assert one == both
    assert one is not None
    assert one.message == "the cluster does not take its pods: exceeded quota: q, requested: pods=1"


def test_what_was_told_last_counts() -> None:
    old = read(event("FailedCreate", "failed quota: q: must specify requests.cpu for: job"))
    new = read(event("FailedCreate", "exceeded quota: q", at="2026-12-01T10:05:00Z"))
    assert old is not None
    assert new is not None
    pending = refused([new, old])
    assert pending is not None
    assert (pending.reason, pending.permanent) == (EndReason.QUOTA, False)
    assert refused([]) is None


def test_how_long_it_is_refused_counts_from_the_first_that_was_refused_alike() -> None:
    """One role has waited for a quota for an hour, then another one's account was not found: that is new."""
    quota = read(event("FailedCreate", "exceeded quota: q", f"{ROOT}-ps"))
    account = read(event("FailedCreate", 'serviceaccount "a" not found', at="2026-12-01T11:00:00Z"))
    assert quota is not None
    assert account is not None
    pending = refused([quota, account])
    assert pending is not None
    assert (pending.reason, pending.since) == (EndReason.START, AT + 3600)


@pytest.mark.parametrize(
    ("reason", "message", "expected", "words"),
    [
        ("FailedMount", 'MountVolume.SetUp failed for volume "x" : secret "y" not found', EndReason.START, "secret"),
        ("FailedMount", "Unable to attach or mount volumes: timed out waiting", None, "Unable to attach"),
        ("FailedAttachVolume", "Multi-Attach error for volume pvc-1", None, "FailedAttachVolume: Multi-Attach"),
        ("FailedCreatePodSandBox", "failed to set up sandbox: no CNI", EndReason.NODE_FAULT, "no CNI"),
    ],
)
def test_why_a_pod_on_its_node_does_not_begin(
    reason: str, message: str, expected: EndReason | None, words: str
) -> None:
    pod = waiting(Pending(None, "its container is being made", AT))
    notice = read(event(reason, message, pod.name))
    assert notice is not None
    pending = explain(pod, [notice]).pending
    assert pending is not None
    assert pending.reason is expected
    assert words in pending.message
    other = read(event(reason, message, f"{pod.name}x"))
    assert other is not None
    assert explain(pod, [other]) is pod


def test_why_no_node_is_added() -> None:
    pod = waiting(Pending(EndReason.UNSCHEDULABLE, "0/5 nodes: 5 lack cpu", AT), node="")
    notice = read(event("NotTriggerScaleUp", "pod didn't trigger scale-up: 2 max node group size reached", pod.name))
    assert notice is not None
    pending = explain(pod, [notice]).pending
    assert pending is not None
    assert pending.reason is EndReason.UNSCHEDULABLE
    assert pending.message == "0/5 nodes: 5 lack cpu; no node is added: 2 max node group size reached"


def test_a_pod_that_says_why_itself_is_believed() -> None:
    pod = waiting(Pending(EndReason.IMAGE_PULL, "ImagePullBackOff", AT))
    notice = read(event("FailedMount", "late", pod.name))
    assert notice is not None
    assert explain(pod, [notice]) is pod


def test_events_of_others_are_nothing_to_us() -> None:
    assert read(event("FailedCreate", "x", "nginx-7bd985746b-x2x5z")) is None
    assert roots(f"{ROOT}-worker-0-abcde") == [ROOT]
    assert ROOT in roots(f"{ROOT}-evaluate-1-0")
    assert roots("a-evaluate-1-k3m9q7rt-1-w") == ["a-evaluate-1-k3m9q7rt-1"], "u and l are in no id"
