"""The plan of an attempt: every rank's command, folder and environment, built purely and compared in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trainyard.common.contract.jobs import JobSpec, Role
from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.frameworks.shape import Group, Place, Rendezvous, Unit
from trainyard.launcher.core.job import Job

LEADERS = ("chief", "master", "scheduler", "launcher", "head")
"""Roles whose first replica is rank 0 where they exist."""
TOLD_ENDPOINTS = 1024
"""Beyond so many ranks their list would outgrow what the kernel takes as one variable (128 KiB)."""
INTERPRETERS = frozenset({"python", "python3"})
INHERITED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("CUDA_VISIBLE_DEVICES", "OPENBLAS_CORETYPE"),
        *("TRAINYARD_DATA", "TRAINYARD_DATA_CA"),
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
    """Every process that is started, with its numbers: leaders first, then the roles by name."""
    roles = spec.all_roles()
    unit = ADAPTERS[spec.framework.name].unit(spec.framework, frozenset(roles))
    if unit is Unit.JOB:
        name, role = next(iter(roles.items()))
        return [(Place(0, 1, name, 0, 0, 1, starts=spec.world_size()), role)]
    started = {name: role.processes if unit is Unit.PROCESS else 1 for name, role in roles.items()}
    world_size = sum(role.replicas * started[name] for name, role in roles.items())
    found: list[tuple[Place, Role]] = []
    node = 0
    for name in sorted(roles, key=lambda name: (name not in LEADERS, name)):
        role, processes = roles[name], started[name]
        starts = role.processes // processes
        for replica in range(role.replicas):
            for process in range(processes):
                index = replica * processes + process
                place = Place(len(found), world_size, name, replica, process, processes, index, node, starts)
                found.append((place, role))
            node += 1
    return found


def serves(spec: JobSpec) -> frozenset[int]:
    """Ranks that only serve the others: ended when those are done; how they end decides nothing."""
    roles = frozenset(spec.all_roles())
    adapter = ADAPTERS[spec.framework.name]
    return frozenset(
        place.rank
        for place, role in places(spec)
        if (adapter.serves(place, roles) if role.background is None else role.background)
    )


def build(
    job: Job,
    *,
    folders: Folders,
    interpreter: Interpreter,
    rendezvous: Rendezvous,
    inherited: Mapping[str, str],
    traceparent: str | None,
    visible: Mapping[str, str] | None = None,
) -> AttemptPlan:
    """The attempt as values. Later entries of the environment win; the launcher's own come last.

    `visible`: every accelerator of the machine → the variable that shows it to a process. What a rank was not given is
    hidden from it.
    """
    spec, adapter = job.spec, ADAPTERS[job.spec.framework.name]
    base = {name: value for name, value in inherited.items() if name in INHERITED or name.startswith("LC_")}
    if interpreter.bin:
        base["PATH"] = f"{interpreter.bin}:{base.get('PATH', '')}".rstrip(":")
    seats = places(spec)
    group = Group(
        job.job_id,
        job.attempt,
        spec.framework,
        tuple(place for place, _ in seats),
        rendezvous,
        next((kind for _, role in seats if (kind := _accelerator(role)) != "cpu"), "cpu"),
        folders.output,
    )
    numbered = adapter.unit(spec.framework, frozenset(spec.all_roles())) is Unit.PROCESS
    ranks = []
    for place, role in seats:
        env = {
            **_without_proxy(base, group),
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": str(max(1, int(role.resources.cpu))),
            "TRAINYARD_CPU": f"{role.resources.cpu:g}",
            **spec.env,
            **role.env,
            **adapter.environment(place, group),
            **_ours(job, place, group, folders),
            **_shown(visible or {}, job.devices[place.rank] if job.devices else ()),
            **(_numbers(place) if numbered else {}),
            **({"TRACEPARENT": traceparent} if traceparent else {}),
        }
        env["PYTHONPATH"] = ":".join(item for item in (folders.worker, env.get("PYTHONPATH", "")) if item)
        command = adapter.command(_command(role.command or spec.command, interpreter), place, group)
        ranks.append(RankPlan(place, _command(command, interpreter), folders.workdir, env))
    return AttemptPlan(job.job_id, job.attempt, tuple(ranks), spec.timeouts.grace)


def _accelerator(role: Role) -> str:
    return role.resources.accelerators.kind if role.resources.accelerators.count else "cpu"


def _shown(visible: Mapping[str, str], own: tuple[str, ...]) -> dict[str, str]:
    return {
        variable: ",".join(device for device in own if visible.get(device) == variable)
        for variable in sorted(set(visible.values()))
    }


def _without_proxy(base: dict[str, str], group: Group) -> dict[str, str]:
    """Ranks reach one another directly: gRPC would ask a proxy for the coordinator and hang (JAX, TensorFlow)."""
    if not any(name.lower() in {"http_proxy", "https_proxy"} for name in base):
        return base
    hosts = sorted({group.rendezvous.host, *(end.rpartition(":")[0] for end in group.rendezvous.endpoints)})
    known = base.get("no_proxy") or base.get("NO_PROXY") or ""
    direct = ",".join([*filter(None, known.split(",")), *hosts])
    return {**base, "no_proxy": direct, "NO_PROXY": direct}


def _ours(job: Job, place: Place, group: Group, folders: Folders) -> dict[str, str]:
    env = {
        "TRAINYARD_JOB_ID": job.job_id,
        "TRAINYARD_JOB_NAME": job.spec.name,
        "TRAINYARD_FRAMEWORK": job.spec.framework.name,
        "TRAINYARD_MODE": group.mode,
        "TRAINYARD_ATTEMPT": str(job.attempt),
        "TRAINYARD_ROLE": place.role,
        "TRAINYARD_MASTER_ADDR": group.rendezvous.host,
        "TRAINYARD_MASTER_PORT": str(group.rendezvous.port),
        "TRAINYARD_ENDPOINT": group.endpoint(place),
        "TRAINYARD_OUTPUT": folders.output,
        "TRAINYARD_CHECKPOINT": folders.checkpoint,
        "TRAINYARD_REPORT": folders.reports[place.rank],
    }
    if len(group.places) <= TOLD_ENDPOINTS:
        env["TRAINYARD_ENDPOINTS"] = ",".join(group.rendezvous.endpoints)
    return env


def _numbers(place: Place) -> dict[str, str]:
    """Not where a launcher of the framework starts the ranks: that one numbers them."""
    return {
        "TRAINYARD_RANK": str(place.rank),
        "TRAINYARD_LOCAL_RANK": str(place.process),
        "TRAINYARD_WORLD_SIZE": str(place.world_size),
    }


def _command(command: tuple[str, ...], interpreter: Interpreter) -> tuple[str, ...]:
    if command[0] in INTERPRETERS and interpreter.python:
        return (interpreter.python, *command[1:])
    return command
