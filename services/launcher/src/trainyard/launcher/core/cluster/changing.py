"""A TrainingJob whose spec was changed after it was submitted: other replicas are a resize, anything else is refused. Pure.

The API server refuses most changes itself. What its rules cannot look into comes here, and is answered in a condition of the
resource, `UpToDate`. Only a new generation of the spec asks for anything: a job that was resized otherwise is not put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.resizing import sized, sizes
from trainyard.common.errors import InvalidInput
from trainyard.launcher.core.cluster.resource import Document, Resource, job_file

CONDITION = "UpToDate"


@dataclass(frozen=True, slots=True)
class Change:
    replicas: dict[str, int] = field(default_factory=dict)
    """Role → what is asked for now, of the roles of which another number was asked for until now."""
    refused: str = ""
    """Why the job is not what the resource says."""


def change(resource: Resource, told: Sequence[Recorded[Any]]) -> Change | None:
    """None: the spec is the one that was looked at last. `told`: the last event of each kind of its job."""
    if resource.generation in {1, resource.status.get("observedGeneration")}:
        return None
    by_kind = {item.event.kind: item.event for item in told}
    submitted = by_kind.get(events.JobSubmitted.kind)
    if submitted is None:
        return None
    try:
        wanted = validate(JobSpec, job_file(resource))
    except InvalidInput as error:
        return Change(refused=str(error))
    known: JobSpec = submitted.spec
    # Where the job's folder comes from is settled by the gateway.
    wanted = wanted.model_copy(
        update={"source": wanted.source or known.source, "workdir": wanted.workdir or known.workdir}
    )
    different = _different(sized(wanted, sizes(known)), known)
    if different:
        return Change(
            refused=f"spec.{', spec.'.join(different)} changed, and the job goes on as it was submitted: of a job only its "
            "replicas may change; put it back, or make another TrainingJob"
        )
    asked = by_kind.get(events.JobResized.kind)
    now = {**sizes(known), **(asked.roles if asked is not None else {})}
    return Change({role: count for role, count in sizes(wanted).items() if now[role] != count})


def conditions(resource: Resource, words: str | None, now: str) -> list[Document]:
    """The condition that answers a change, if there ever was one. `words`: why it was refused; empty: it was not; None:
    nothing has changed."""
    known = [item for item in resource.status.get("conditions") or () if item.get("type") == CONDITION]
    if words is None:
        return known
    answer = "False" if words else "True"
    since = next((item["lastTransitionTime"] for item in known if item.get("status") == answer), now)
    return [
        {
            "type": CONDITION,
            "status": answer,
            "reason": "SpecRefused" if words else "Resized",
            "message": words,
            "lastTransitionTime": since,
            "observedGeneration": resource.generation,
        }
    ]


def _different(one: JobSpec, other: JobSpec) -> list[str]:
    return [name for name in JobSpec.model_fields if getattr(one, name) != getattr(other, name)]
