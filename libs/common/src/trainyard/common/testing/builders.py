"""Small valid specs and events; a test says only what matters to it."""

from __future__ import annotations

from typing import Any

from trainyard.common import ids
from trainyard.common.contract.events import JobSubmitted
from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import JobSpec

MINIMAL: dict[str, Any] = {"name": "a-job", "framework": "generic", "command": ["true"]}


def spec(**changes: Any) -> JobSpec:
    return validate(JobSpec, {**MINIMAL, **changes})


def submitted(job_id: str | None = None, owner: str = "ann", **changes: Any) -> JobSubmitted:
    return JobSubmitted(job_id=job_id or ids.new_job_id(), spec=spec(**changes), owner=owner)
