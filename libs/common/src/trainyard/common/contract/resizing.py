"""Another size for a job that has been submitted: the replicas of its roles, and nothing else of its file. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainyard.common.contract.explain import nearest, validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.errors import InvalidInput


def sizes(spec: JobSpec) -> dict[str, int]:
    """Role → replicas."""
    return {name: role.replicas for name, role in spec.all_roles().items()}


def sizes_of(document: Mapping[str, Any]) -> dict[str, int]:
    """The same of a spec as JSON, without reading it as a model."""
    roles = document.get("roles") or {"worker": document}
    return {name: int(role.get("replicas", 1)) for name, role in roles.items()}


def sized(spec: JobSpec, replicas: Mapping[str, int]) -> JobSpec:
    """The job with so many replicas; roles that it does not have are passed over."""
    if not spec.roles:
        return spec.model_copy(update={"replicas": replicas.get("worker", spec.replicas)})
    roles = {
        name: role.model_copy(update={"replicas": replicas.get(name, role.replicas)})
        for name, role in spec.roles.items()
    }
    return spec.model_copy(update={"roles": roles})


def role_of(spec: JobSpec, role: str | None) -> str:
    """The role that is meant. Raises InvalidInput."""
    roles = sorted(spec.all_roles())
    if role is None:
        role = roles[0] if len(roles) == 1 else "worker"
        if role not in roles:
            raise InvalidInput.one("the job has several roles", "role", f"name one of {', '.join(roles)}")
    if role not in roles:
        hint = nearest(role, roles) or f"its roles: {', '.join(roles)}"
        raise InvalidInput.one(f"the job has no role {role!r}", "role", hint)
    return role


def resized(spec: JobSpec, role: str, replicas: int) -> JobSpec:
    """The job at its new size, held against every rule that a job file is held against. Raises InvalidInput."""
    if replicas < 1:
        raise InvalidInput.one(
            f"a role has at least one replica, not {replicas}",
            "replicas",
            "`yard suspend` ends all of them for now, `yard cancel` for good",
        )
    after = validate(JobSpec, sized(spec, {role: replicas}).model_dump(mode="json", exclude_none=True))
    total, elastic = sum(sizes(after).values()), spec.framework.elastic
    if elastic is not None and total < elastic.min_replicas:
        raise InvalidInput.one(
            f"framework.elastic.min_replicas is {elastic.min_replicas}, and this would leave {total}", "replicas"
        )
    if elastic is not None and elastic.max_replicas is not None and total > elastic.max_replicas:
        raise InvalidInput.one(
            f"framework.elastic.max_replicas is {elastic.max_replicas}, and this would make {total}", "replicas"
        )
    return after
