"""Events of the cluster (the kind `Event`) that tell why an attempt has no pods, or a pod no container. Pure.

An object's own status is silent on these: a Job whose pods are refused looks like one whose pods are about to come. What is
read here keeps to reasons that somebody waits for; the scheduler's own refusals stand in the pod's conditions as well.
Sources: kubernetes `pkg/controller/controller_utils.go` (FailedCreate), `pkg/kubelet/events/event.go`; JobSet
`pkg/constants`; cluster-autoscaler `processors/status`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.cluster.pods import Pod, seconds
from trainyard.launcher.core.observation import Pending

OF_MAKERS = ("FailedCreate", "JobCreationFailed")
OF_PODS = ("NotTriggerScaleUp", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")
SILENCE = (
    1200.0  # seconds between two refusals after which pods were made meanwhile; the Job controller waits 600 at most
)
LONGEST = 400
"""Characters of a message that are kept."""
_ROOT = re.compile(r"-[0-9a-hjkmnp-tv-z]{8}-\d+(?=-|$)")
"""How the name of a root ends: the end of a job's id, and the attempt (see `manifests.names`)."""
_PREFIX = re.compile(
    r"^(?:\(combined from similar events\): )?(?:Error creating: )?(?:\S+ \"[^\"]*\" is )?(?:forbidden: )?"
)


@dataclass(frozen=True, slots=True)
class Notice:
    namespace: str
    name: str
    """Of the object that it is about."""
    reason: str
    message: str
    since: float
    """Unix seconds of the first time."""
    at: float
    """Of the last."""


def read(document: dict[str, Any]) -> Notice | None:
    """None: it is not about anything that bears a name of ours."""
    about = document.get("involvedObject") or {}
    name = str(about.get("name") or "")
    if not _ROOT.search(name):
        return None
    first = document.get("firstTimestamp") or document.get("eventTime") or document["metadata"].get("creationTimestamp")
    last = (document.get("series") or {}).get("lastObservedTime") or document.get("lastTimestamp") or first
    return Notice(
        namespace=str(about.get("namespace") or ""),
        name=name,
        reason=str(document.get("reason") or ""),
        message=" ".join(str(document.get("message") or "").split())[:LONGEST],
        since=seconds(first),
        at=seconds(last),
    )


def roots(name: str) -> list[str]:
    """The names of roots to which an object of this name may belong: nearly always one."""
    return [name[: found.end()] for found in _ROOT.finditer(name)]


@dataclass(frozen=True, slots=True)
class Refusal:
    says: re.Pattern[str]
    reason: EndReason | None
    """What a job ends for that is refused so; None: it is only a matter of time."""
    permanent: bool = False
    """Asking again changes nothing: somebody has to change the job, or what the cluster allows."""


REFUSALS = (
    Refusal(re.compile(r"exceeded quota"), EndReason.QUOTA),
    Refusal(re.compile(r"must specify|(?:maximum|minimum) \S+ usage per|limit to request ratio"), EndReason.REFUSED, True),
    Refusal(re.compile(r"denied (?:the )?request|violates PodSecurity"), EndReason.REFUSED, True),
    Refusal(re.compile(r"is invalid|^invalid:|no PriorityClass with name"), EndReason.REFUSED, True),
    Refusal(re.compile(r"failed calling webhook|already exists|timed? ?out|too many requests|try again"), None),
    Refusal(re.compile(r"forbidden|not found"), EndReason.START),  # an account or a class that may still come
)  # fmt: skip
"""What the API server's answer to whoever makes the pods means; the first that fits."""


def refused(told: Sequence[Notice]) -> Pending | None:
    """Why what makes the pods cannot make them, as it was told last."""
    newest = max((notice for notice in told if notice.reason in OF_MAKERS), key=lambda notice: notice.at, default=None)
    if newest is None:
        return None
    rule = _rule(newest)
    # The name of a pod that never was differs each time; without it the same is told once.
    words = _PREFIX.sub("", newest.message)
    since = min(notice.since for notice in told if notice.reason in OF_MAKERS and _rule(notice) is rule)
    return Pending(
        rule.reason if rule is not None else None,
        f"the cluster does not take its pods: {words}",
        since,
        permanent=rule is not None and rule.permanent,
    )


def later(known: Notice, newer: Notice) -> Notice:
    """The newer of two of one object and reason. Each try to make a pod is told anew, since it names another pod: for as
    long as they are refused alike, it has been so since the first."""
    alike = newer.reason in OF_MAKERS and _rule(known) is _rule(newer) and newer.since - known.at < SILENCE
    return replace(newer, since=min(known.since, newer.since)) if alike else newer


def _rule(notice: Notice) -> Refusal | None:
    return next((rule for rule in REFUSALS if rule.says.search(notice.message)), None)


def explain(pod: Pod, told: Iterable[Notice]) -> Pod:
    """The pod, with what was told of it where its own status says nothing."""
    pending = pod.pending
    ours = [notice for notice in told if notice.name == pod.name]
    if pending is None or not ours:
        return pod
    newest = max(ours, key=lambda notice: notice.at)
    if pending.reason is EndReason.UNSCHEDULABLE and newest.reason == "NotTriggerScaleUp":
        return replace(pod, pending=replace(pending, message=f"{pending.message}; no node is added: {_plain(newest)}"))
    if pending.reason is not None or not pod.node or newest.reason not in OF_PODS:
        return pod
    return replace(pod, pending=Pending(_of_pod(newest), f"{newest.reason}: {newest.message}", newest.since))


def _of_pod(notice: Notice) -> EndReason | None:
    if notice.reason == "FailedCreatePodSandBox":
        return EndReason.NODE_FAULT
    # What is not there does not come by waiting; a volume that is slow does.
    return EndReason.START if "not found" in notice.message else None


def _plain(notice: Notice) -> str:
    return notice.message.removeprefix("pod didn't trigger scale-up: ")
