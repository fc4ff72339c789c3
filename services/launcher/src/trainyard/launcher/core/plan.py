"""The plan of an attempt: every rank's command, folder and environment, built purely and compared in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trainyard.common.contract.jobs import JobSpec, Role
from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.frameworks.shape import Place, Rendezvous
from trainyard.launcher.core.job import Job

LEADERS = ("chief", "master", "scheduler", "launcher", "head")
"""Roles whose first replica is rank 0 where they exist."""
INTERPRETERS = frozenset({"python", "python3"})
INHERITED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("CUDA_VISIBLE_DEVICES", "OPENBLAS_CORETYPE"),
    }
)
"""What a job sees of the launcher's own environment (and LC_*): never its credentials."""


@dataclass(frozen=True, slots=True)
class Folders:
    """Where a job's things are, for the processes themselves."""

    workdir: str
    output: str
    checkpoint: str
    worker: str
    """Holds the package trainyard.worker."""
    reports: Mapping[int, str]
    """Rank → the file that its reports go to."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The image as a process sees it. `python` None: whatever PATH gives."""

    python: str | None
    bin: str | None


@dataclass(frozen=True, slots=True)
class RankPlan:
    place: Place
    command: tuple[str, ...]
    cwd: str
    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class AttemptPlan:
    job_id: str
    attempt: int
    ranks: tuple[RankPlan, ...]
    grace: float


def places(spec: JobSpec) -> list[tuple[Place, Role]]:
    """Every process of the job with its numbers: leaders first, then the roles by name."""
    roles = spec.all_roles()
    ordered = sorted(roles, key=lambda name: (name not in LEADERS, name))
    world_size = spec.world_size()
    found: list[tuple[Place, Role]] = []
    for name in ordered:
        role = roles[name]
        for replica in range(role.replicas):
            for process in range(role.processes):
                found.append((Place(len(found), world_size, name, replica, process, role.processes), role))
    return found


def build(
    job: Job,
    *,
    folders: Folders,
    interpreter: Interpreter,
    rendezvous: Rendezvous,
    inherited: Mapping[str, str],
    traceparent: str | None,
) -> AttemptPlan:
    """The attempt as values. Later entries of the environment win; the launcher's own come last."""
    spec, adapter = job.spec, ADAPTERS[job.spec.framework.name]
    base = {name: value for name, value in inherited.items() if name in INHERITED or name.startswith("LC_")}
    if interpreter.bin:
        base["PATH"] = f"{interpreter.bin}:{base.get('PATH', '')}".rstrip(":")
    ranks = []
    for place, role in places(spec):
        env = {
            **base,
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": str(max(1, int(role.resources.cpu))),
            **spec.env,
            **role.env,
            **adapter(place, rendezvous),
            **_ours(job, place, folders, traceparent),
        }
        env["PYTHONPATH"] = ":".join(item for item in (folders.worker, env.get("PYTHONPATH", "")) if item)
        ranks.append(RankPlan(place, _command(role.command or spec.command, interpreter), folders.workdir, env))
    return AttemptPlan(job.job_id, job.attempt, tuple(ranks), spec.timeouts.grace)


def _ours(job: Job, place: Place, folders: Folders, traceparent: str | None) -> dict[str, str]:
    env = {
        "TRAINYARD_JOB_ID": job.job_id,
        "TRAINYARD_JOB_NAME": job.spec.name,
        "TRAINYARD_ATTEMPT": str(job.attempt),
        "TRAINYARD_ROLE": place.role,
        "TRAINYARD_RANK": str(place.rank),
        "TRAINYARD_LOCAL_RANK": str(place.process),
        "TRAINYARD_WORLD_SIZE": str(place.world_size),
        "TRAINYARD_OUTPUT": folders.output,
        "TRAINYARD_CHECKPOINT": folders.checkpoint,
        "TRAINYARD_REPORT": folders.reports[place.rank],
    }
    return {**env, "TRACEPARENT": traceparent} if traceparent else env


def _command(command: tuple[str, ...], interpreter: Interpreter) -> tuple[str, ...]:
    if command[0] in INTERPRETERS and interpreter.python:
        return (interpreter.python, *command[1:])
    return command
