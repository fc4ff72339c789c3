"""One pod as the API server describes it, read into the little that matters of it.

Ends are told by what is known for certain, in this order: a disruption that the control plane has announced (preemption,
eviction, a lost node), the kubelet's reason for the pod, the reason for the container, and only then code and signal. A pod
that was evicted has no exit code, and one that ran out of memory may have 0; neither may look like something else.
Sources: kubernetes.io "Pod Lifecycle" and "Disruptions" (pod disruption conditions); kubelet `container status` reasons.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.cluster.words import unschedulable
from trainyard.launcher.core.observation import Pending

_DISRUPTIONS = {
    "PreemptionByScheduler": (EndReason.PREEMPTED, "it made room for something of higher priority"),
    "EvictionByEvictionAPI": (EndReason.EVICTED, "it was evicted through the API (a drained node, perhaps)"),
    "TerminationByKubelet": (
        EndReason.EVICTED,
        "the kubelet ended it (node pressure, shutdown or preemption on the node)",
    ),
    "DeletionByTaintManager": (EndReason.NODE_LOST, "its node does not answer or was tainted"),
    "DeletionByPodGC": (EndReason.NODE_LOST, "its node is gone"),
}
_OF_POD = {
    "Evicted": EndReason.EVICTED,
    "NodeLost": EndReason.NODE_LOST,
    "NodeShutdown": EndReason.NODE_LOST,
    "Shutdown": EndReason.NODE_LOST,
    "Terminated": EndReason.NODE_LOST,
    "Preempting": EndReason.PREEMPTED,
    "UnexpectedAdmissionError": EndReason.NODE_FAULT,
    "OutOfcpu": EndReason.EVICTED,
    "OutOfmemory": EndReason.EVICTED,
    "DeadlineExceeded": EndReason.DEADLINE,
}
_OF_CONTAINER = {
    "OOMKilled": EndReason.OOM,
    "ContainerCannotRun": EndReason.START,
    "StartError": EndReason.START,
    "ContainerStatusUnknown": EndReason.NODE_LOST,
}
_OF_NODES = frozenset({EndReason.NODE_LOST, EndReason.NODE_FAULT, EndReason.LOST})
_OWN_FAULT = re.compile(r"exceed(s|ed) .*limit|resource: memory.*(larger consumption|exceeds its request)", re.DOTALL)
"""How the kubelet says that a pod itself took what it was evicted for. On a full disk every pod's use exceeds what it asked
for, which nobody asks for disks; so there it says nothing. Source: kubelet `eviction/helpers.go`."""
MOST = 2**53
"""What JSON readers of every language hold exactly."""
MOST_PROCESSES = 1024
"""Of a pod, as the job file bounds them."""
_PREFIX = re.compile(rb"\[(\d+)\] ?")
_IMAGE = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
_CONFIG = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}


@dataclass(frozen=True, slots=True)
class RankEnd:
    """What the runner inside of the pod wrote down of one process."""

    code: int | None = None
    signal: int | None = None
    oom: bool = False
    max_rss: int | None = None
    cpu_seconds: float | None = None


class Owner(NamedTuple):
    kind: str
    uid: str


@dataclass(frozen=True, slots=True)
class Pod:
    name: str
    namespace: str
    uid: str
    job_id: str
    attempt: int
    role: str
    index: int
    node: str
    created: float
    deleting_since: float | None = None
    """When it is to be gone at the latest, grace included (Unix seconds); None: nobody deletes it."""
    running: bool = False
    over: bool = False
    code: int | None = None
    signal: int | None = None
    reason: EndReason | None = None
    message: str = ""
    of_node: bool = False
    """What ended it is its node's fault, as far as the cluster tells."""
    ended_at: float = 0.0
    pending: Pending | None = None
    ends: tuple[tuple[int, RankEnd], ...] = ()
    """Rank → its own end, where the runner could write it."""
    ranks: range = range(1)
    """The ranks of its processes."""
    owner: Owner | None = None
    """Its controller; None: somebody has made it by hand."""

    def rank_of(self, line: bytes) -> tuple[int, bytes]:
        """Whose line it is, and the line without that mark: the runner of several processes writes `[3] text`."""
        if len(self.ranks) > 1:
            found = _PREFIX.match(line)
            if found is not None and int(found[1]) in self.ranks:
                return int(found[1]), line[found.end() :]
        return self.ranks[0], line


def read(document: dict[str, Any]) -> Pod:
    """Never raises for a pod that bears our labels: what is missing is not known yet."""
    metadata, status = document["metadata"], document.get("status") or {}
    marks, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
    index = _index(marks, notes)
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    main = _state(status.get("containerStatuses"), labels.CONTAINER)
    ended = main.get("terminated")
    disruption, words = _disruption(conditions)
    phase = status.get("phase", "Pending")
    over = phase in {"Succeeded", "Failed"} or ended is not None or disruption is EndReason.NODE_LOST
    reason, message = _end(status, ended or {}, disruption, words) if over or disruption else (None, "")
    code = (ended or {}).get("exitCode")
    killed_by = (ended or {}).get("signal") or (code - 128 if code is not None and 128 < code < 193 else None)
    return Pod(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        uid=metadata["uid"],
        job_id=marks.get(labels.JOB, ""),
        attempt=number(marks.get(labels.ATTEMPT), 0),
        role=marks.get(labels.ROLE, ""),
        index=index,
        node=(document.get("spec") or {}).get("nodeName", ""),
        created=seconds(metadata.get("creationTimestamp")),
        deleting_since=seconds(metadata["deletionTimestamp"]) if metadata.get("deletionTimestamp") else None,
        running="running" in main and not over,
        over=over,
        code=code,
        signal=killed_by or None,
        reason=reason,
        message=message,
        of_node=_of_node(status, conditions, reason),
        ended_at=seconds((ended or {}).get("finishedAt")) or _changed(conditions.get("DisruptionTarget")),
        pending=None if over or "running" in main else _pending(document, status, conditions, main),
        ends=_ends((ended or {}).get("message")),
        ranks=_ranks(notes.get(labels.RANKS), index),
        owner=_owner(metadata),
    )


def _owner(metadata: dict[str, Any]) -> Owner | None:
    owners = metadata.get("ownerReferences") or ()
    return next((Owner(one.get("kind", ""), one.get("uid", "")) for one in owners if one.get("controller")), None)


def _disruption(conditions: dict[str, Any]) -> tuple[EndReason | None, str]:
    found = conditions.get("DisruptionTarget")
    if found is None or found.get("status") != "True":
        return None, ""
    return _DISRUPTIONS.get(found.get("reason", ""), (EndReason.EVICTED, found.get("message", "")))


def _of_node(status: dict[str, Any], conditions: dict[str, Any], reason: EndReason | None) -> bool:
    """A node that was drained, or gave its room to something else, is a good one; and so is one that a pod has filled."""
    if reason in _OF_NODES:
        return True
    by_kubelet = (conditions.get("DisruptionTarget") or {}).get("reason") == "TerminationByKubelet"
    evicted = status.get("reason") == "Evicted" or (by_kubelet and not status.get("reason"))
    told = f"{status.get('message') or ''} {(conditions.get('DisruptionTarget') or {}).get('message') or ''}"
    return reason is EndReason.EVICTED and evicted and not _OWN_FAULT.search(told)


def _end(
    status: dict[str, Any], ended: dict[str, Any], disruption: EndReason | None, words: str
) -> tuple[EndReason | None, str]:
    if disruption is not None and ended.get("exitCode") != 0:
        return disruption, words
    pod = _OF_POD.get(status.get("reason", ""))
    if pod is not None:
        return pod, status.get("message", "")
    container = _OF_CONTAINER.get(ended.get("reason", ""))
    if container is not None:
        return container, "" if container is EndReason.OOM else _first_line(ended.get("message"))
    for item in status.get("initContainerStatuses") or ():
        failed = (item.get("state") or {}).get("terminated")
        if failed is not None and failed.get("exitCode"):
            text = f"init container {item['name']} exited with code {failed['exitCode']}"
            return EndReason.INIT_FAILED, text
    if not ended and status.get("phase") == "Failed":
        return EndReason.LOST, status.get("message") or "the pod failed and nobody recorded how"
    return None, ""


def _pending(
    document: dict[str, Any], status: dict[str, Any], conditions: dict[str, Any], main: dict[str, Any]
) -> Pending:
    created = seconds(document["metadata"].get("creationTimestamp"))
    placed = conditions.get("PodScheduled", {})
    if placed.get("status") == "False":
        if placed.get("reason") == "SchedulingGated":
            return Pending(None, "it is held back until all of the job can start", created)
        return Pending(EndReason.UNSCHEDULABLE, unschedulable(placed.get("message", "")), _changed(placed) or created)
    since = _changed(placed) or created
    waiting = [("", main.get("waiting") or {})] + [
        (item["name"], (item.get("state") or {}).get("waiting") or {})
        for item in status.get("initContainerStatuses") or ()
    ]
    for name, state in waiting:
        why = state.get("reason", "")
        where = f"container {name}: " if name else ""
        if why in _IMAGE:
            return Pending(EndReason.IMAGE_PULL, f"{where}{why}: {_first_line(state.get('message'))}", since)
        if why in _CONFIG:
            return Pending(EndReason.START, f"{where}{why}: {_first_line(state.get('message'))}", since)
        if name and why == "CrashLoopBackOff":
            return Pending(EndReason.INIT_FAILED, f"{where}it fails again and again", since)
    return Pending(None, "its container is being made" if placed else "it waits for the scheduler", since)


def _state(statuses: list[dict[str, Any]] | None, name: str) -> dict[str, Any]:
    found = next((item for item in statuses or () if item["name"] == name), None)
    return (found or {}).get("state") or {}


def _ends(message: str | None) -> tuple[tuple[int, RankEnd], ...]:
    try:
        ranks = json.loads(message or "{}")["ranks"]
        return tuple(
            (
                int(item["rank"]),
                RankEnd(
                    _of_type(item.get("code"), int),
                    _of_type(item.get("signal"), int),
                    bool(item.get("oom")),
                    _of_type(item.get("rss"), int),
                    _of_type(item.get("cpu"), int, float),
                ),
            )
            for item in ranks
        )
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return ()  # a command of its own may write there whatever it likes


def _of_type(value: Any, *kinds: type) -> Any:
    """None stays. Raises TypeError and ValueError for what the runner never writes."""
    if value is not None and type(value) not in kinds:
        raise TypeError
    if value is not None and not 0 <= value <= MOST:
        raise ValueError
    return value


def _changed(condition: dict[str, Any] | None) -> float:
    return seconds((condition or {}).get("lastTransitionTime"))


def seconds(time: str | None) -> float:
    """RFC 3339 → Unix seconds; 0 for nothing."""
    return datetime.fromisoformat(time).timestamp() if time else 0.0


def _index(marks: dict[str, str], notes: dict[str, str]) -> int:
    for name in (labels.INDEX, labels.VOLCANO_INDEX):
        text = marks.get(name) or notes.get(name)
        if text:
            return number(text, 0)
    return 0


def _ranks(text: str | None, index: int) -> range:
    first, _, processes = (text or "0/1").partition("/")
    count = min(MOST_PROCESSES, max(1, number(processes, 1)))
    begin = number(first, 0) + index * count
    return range(begin, begin + count)


def number(text: str | None, otherwise: int) -> int:
    """Labels and annotations are whatever somebody wrote there."""
    return int(text) if text and len(text) <= 9 and text.isascii() and text.isdigit() else otherwise


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0][:300]
