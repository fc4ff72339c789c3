"""What a rendered job may ask for. Pure; one row of the table a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.quantities import human_bytes, human_seconds
from trainyard.common.contract.templates import JobLimits
from trainyard.common.errors import Problem
from trainyard.job_api.core.substitution import Substitution


@dataclass(frozen=True, slots=True)
class _Row:
    limit: str
    used: Callable[[JobSpec], float | None]
    """None: without end."""
    feeds: Callable[[tuple[str, ...]], bool]
    """Does this place of a job file count into it?"""
    words: Callable[[float], str]


def _total(spec: JobSpec, of_process: Callable[[Any], float]) -> float:
    return sum(role.replicas * role.processes * of_process(role) for role in spec.all_roles().values())


def _is_shape(path: tuple[str, ...]) -> bool:
    return path[-1] in {"replicas", "processes"}


_ROWS = (
    _Row(
        "cpu",
        lambda spec: _total(spec, lambda role: role.resources.cpu),
        lambda path: _is_shape(path) or path[-2:] == ("resources", "cpu"),
        lambda number: f"{number:g} cores",
    ),
    _Row(
        "memory",
        lambda spec: _total(spec, lambda role: role.resources.memory),
        lambda path: _is_shape(path) or path[-2:] == ("resources", "memory"),
        human_bytes,
    ),
    _Row("processes", lambda spec: float(spec.world_size()), _is_shape, lambda number: f"{number:.0f} processes"),
    _Row(
        "accelerators",
        lambda spec: _total(spec, lambda role: role.resources.accelerators.count),
        # However they are written: `accelerators: ${n}`, `{gpu: ${n}}`, `{count: ${n}}`.
        lambda path: _is_shape(path) or ("accelerators" in path[-2:] and path[-1] not in {"kind", "share", "resource"}),
        lambda number: f"{number:.0f} accelerators",
    ),
    _Row(
        "active",
        lambda spec: spec.timeouts.active,
        lambda path: path == ("timeouts", "active"),
        lambda number: f"{human_seconds(number)} of running",
    ),
    _Row(
        "priority",
        lambda spec: float(spec.priority),
        lambda path: path == ("priority",),
        lambda number: f"priority {number:.0f}",
    ),
)


def beyond(spec: JobSpec, limits: Sequence[tuple[str, JobLimits]]) -> Iterator[tuple[str, _Row]]:
    """Each limit that the job is beyond, in words. `limits`: whose they are, in words, and what they are."""
    for owner, limit in limits:
        for row in _ROWS:
            most, used = getattr(limit, row.limit), row.used(spec)
            if most is None or (used is not None and used <= most):
                continue
            asked = "has no longest run" if used is None else f"asks for {row.words(used)}"
            yield f"the job {asked}, at most {row.words(most)} ({owner})", row


def faults(spec: JobSpec, made: Substitution, limits: Sequence[tuple[str, JobLimits]]) -> list[Problem]:
    """One Problem for each parameter that can mend it."""
    found = []
    for what, row in beyond(spec, limits):
        names = [name for path, parts in made.sources.items() if row.feeds(path) for name in parts]
        names = list(dict.fromkeys(names))
        hint = f"lower {' or '.join(names)}" if names else "the template itself asks for it"
        wheres = [f"parameters.{name}" for name in names] or [f"limits.{row.limit}"]
        found += [Problem(what, where, hint) for where in wheres]
    return found
