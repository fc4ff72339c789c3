"""The custom resource `TrainingJob`: what it submits, and what is written back into its status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainyard.common import ids
from trainyard.common.contract import crd, events
from trainyard.common.contract.codec import Recorded
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import fold

Document = dict[str, Any]

FINALIZER = "trainyard.dev/cancel"
"""While it is there, deleting the resource cancels the job first."""
_OVER = {State.SUCCEEDED: "Complete", State.FAILED: "Failed", State.LOST: "Failed", State.CANCELLED: "Cancelled"}


@dataclass(frozen=True, slots=True)
class Resource:
    name: str
    namespace: str
    uid: str
    version: str
    generation: int
    deleting: bool
    finalizers: tuple[str, ...]
    spec: Document
    status: Document

    @property
    def job_id(self) -> str | None:
        return self.status.get("jobId")

    @property
    def ours(self) -> bool:
        """Nobody else is named to run it."""
        return self.spec.get("managedBy") in {None, crd.MANAGER}

    @property
    def rejected(self) -> bool:
        return self.status.get("state") == State.REJECTED.value


def read(document: Document) -> Resource:
    metadata = document["metadata"]
    return Resource(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        generation=int(metadata.get("generation", 1)),
        deleting="deletionTimestamp" in metadata,
        finalizers=tuple(metadata.get("finalizers") or ()),
        spec=document.get("spec") or {},
        status=document.get("status") or {},
    )


def job_file(resource: Resource) -> Document:
    """What is submitted: its pods stand in its own namespace and nowhere else. Raises InvalidInput."""
    block = dict(resource.spec.get("kubernetes") or {})
    if block.get("namespace", resource.namespace) != resource.namespace:
        raise InvalidInput.one(
            f"the pods of a TrainingJob stand in its own namespace {resource.namespace!r}",
            "spec.kubernetes.namespace",
            "leave it out",
        )
    spec = {name: value for name, value in resource.spec.items() if name != "managedBy"}
    return {**spec, "name": resource.name, "kubernetes": {**block, "namespace": resource.namespace}}


def owner_of(namespace: str) -> str:
    """Of the jobs of its resources. No token has such a name."""
    return f"kubernetes/{namespace}"


def owner(resource: Resource) -> str:
    return owner_of(resource.namespace)


def job_id_of(resource: Resource) -> str:
    """What the gateway calls the job of this owner and key, whether or not there is one already."""
    return ids.keyed("job", owner(resource), resource.uid)


def refused(resource: Resource, message: str, now: str) -> Document:
    """The status of a resource whose job file cannot be taken."""
    return {
        "state": State.REJECTED.value,
        "message": message,
        "observedGeneration": resource.generation,
        "conditions": _conditions(resource, State.REJECTED, "InvalidSpec", message, now),
    }


def status(resource: Resource, told: Sequence[Recorded[Any]], now: str) -> Document:
    """From the last event of each kind of its job. None: not so, or not any more, for it is merged into what stands there."""
    head = fold(resource.job_id or "", ((item.seq, item.event) for item in told))
    state = head.state or State.SUBMITTED
    by_kind = {item.event.kind: item for item in told}
    last = max(told, key=lambda item: item.seq).event if told else None
    moved = max((item for item in told if item.event.kind != "progress"), key=lambda item: item.seq, default=None)
    message = (getattr(moved.event, "message", None) if moved is not None else None) or ""
    reason = getattr(moved.event, "reason", None) if moved is not None else None
    ended = moved.time if moved is not None and state.terminal else None
    return {
        "jobId": resource.job_id,
        "state": state.value,
        "framework": _framework(resource.spec.get("framework")),
        "attempt": head.attempt or None,
        "reason": str(reason.value) if reason is not None else None,
        "message": message or None,
        "progress": _progress(by_kind.get("progress")),
        "metrics": getattr(by_kind["progress"].event, "metrics", None) if "progress" in by_kind else None,
        "submittedAt": by_kind["submitted"].time if "submitted" in by_kind else None,
        "startedAt": by_kind["running"].time if "running" in by_kind else None,
        "endedAt": ended,
        "outputs": getattr(last, "outputs", None),
        "observedGeneration": resource.generation,
        "conditions": _conditions(resource, state, str(reason.value) if reason is not None else "", message, now),
    }


def _conditions(resource: Resource, state: State, reason: str, message: str, now: str) -> list[Document]:
    """`Accepted`, `Running`, and the one that says how it ended; times change only when the answers do. The message stands
    at the one that it is about."""
    about = "Accepted" if state is State.REJECTED else _OVER.get(state, "Running")
    answers = {
        "Accepted": ("False", reason or "Rejected") if state is State.REJECTED else ("True", "Accepted"),
        "Running": ("True" if state is State.RUNNING else "False", state.value.capitalize()),
    }
    for kind in dict.fromkeys(_OVER.values()):
        answers[kind] = (
            "True" if _OVER.get(state) == kind else "False",
            reason.capitalize() or state.value.capitalize(),
        )
    known = {item["type"]: item for item in resource.status.get("conditions") or ()}
    made = []
    for kind, (answer, why) in answers.items():
        before = known.get(kind, {})
        since = before.get("lastTransitionTime", now) if before.get("status") == answer else now
        made.append(
            {
                "type": kind,
                "status": answer,
                "reason": "".join(part.capitalize() for part in why.split("-")) or "Unknown",
                "message": message if kind == about else "",
                "lastTransitionTime": since,
                "observedGeneration": resource.generation,
            }
        )
    return made


def _progress(item: Recorded[events.JobProgress] | None) -> str | None:
    if item is None:
        return None
    event = item.event
    for name, at, of in (("epoch", event.epoch, event.epochs), ("step", event.step, event.steps)):
        if at is not None:
            return f"{name} {at}/{of}" if of else f"{name} {at}"
    return None


def _framework(value: Any) -> str | None:
    return value.get("name") if isinstance(value, dict) else value
