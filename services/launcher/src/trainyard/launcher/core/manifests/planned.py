"""The plan of an attempt for the runner inside of its pods: what every process is started with.

Most variables are the same for all ranks of a role; they stand in the pod itself, where `kubectl` shows them. The rest is in
the root's ConfigMap, compressed: a thousand ranks with a TF_CONFIG each would not fit otherwise (1 MiB).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainyard.launcher.core import plan
from trainyard.launcher.core.frameworks.shape import Place, Rendezvous
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests.cluster import Cluster, block
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.plan import AttemptPlan, Folders, Interpreter, RankPlan

PORT = 29500
"""Of the rendezvous; each process has the one that is as much higher as its place in the pod, and one more."""
HOST_PORTS = range(20_000, 30_000)
"""For pods on their node's network: below the NodePorts (30000) and the kernel's own choice (32768)."""
INTERFACE = "eth0"
"""What a container's network interface is called by nearly every network plugin."""
ANY = "any-interface"
"""Stands for a node's interface, whose name nobody here knows; variables that name it are left out."""
WAITED_FOR = 64
"""Pods of larger jobs wait for the first one only: all of them asking for all would be a burden on the cluster's DNS."""
HOME = "/trainyard"
WORKER = f"{HOME}/lib/worker.zip"
PLAN = f"{HOME}/plan/plan.json.gz"
RUN = f"{HOME}/run"
VOLUME = f"{HOME}/volume"
SOURCE = f"{HOME}/source/source.zip"
"""The job's folder as it was sent, and where the runner unpacks it."""
FOLDER = f"{RUN}/source"


@dataclass(frozen=True, slots=True)
class Draft:
    plan: AttemptPlan
    packed: str
    """As the ConfigMap has it."""


def draft(job: Job, cluster: Cluster) -> Draft:
    """The plan and its packed form, which take a tenth of a second for a thousand ranks: whoever asks what is wrong with a
    job and builds it next makes one draft for both."""
    plan = attempt(job, cluster, Names.of(job, cluster))
    return Draft(plan, packed(plan, source=job.spec.archive is not None))


def attempt(job: Job, cluster: Cluster, names: Names) -> AttemptPlan:
    seats = [place for place, _ in plan.places(job.spec)]
    made = plan.build(
        job,
        folders=_folders(job, seats),
        interpreter=Interpreter(None, None),
        rendezvous=rendezvous(job, seats, names),
        inherited={},
        traceparent=job.trace,
    )
    known = [replace(rank, env={k: v for k, v in rank.env.items() if v != ANY}) for rank in made.ranks]
    return replace(made, ranks=tuple(known))


def rendezvous(job: Job, seats: Sequence[Place], names: Names) -> Rendezvous:
    """On a node's network a port of the job's own for each rank, since its pods and those of others may share the node."""
    hosts = [names.host(place.role, place.replica) for place in seats]
    if block(job).host_network:
        first = host_port(job, len(seats))
        return Rendezvous(hosts[0], first, tuple(f"{host}:{first + 1 + n}" for n, host in enumerate(hosts)), ANY)
    endpoints = tuple(f"{host}:{PORT + 1 + place.process}" for host, place in zip(hosts, seats, strict=True))
    return Rendezvous(hosts[0], PORT, endpoints, INTERFACE)


def host_port(job: Job, ranks: int) -> int:
    """The first of one port more than there are ranks. Two jobs can still meet on one; the next attempt has others."""
    room = max(1, len(HOST_PORTS) - ranks)
    digest = hashlib.sha256(f"{job.job_id}.{job.attempt}".encode()).digest()
    return HOST_PORTS[int.from_bytes(digest[:8], "big") % room]


def waited_for(made: AttemptPlan) -> list[str]:
    """The hosts that every pod finds by name before it starts anything."""
    env = made.ranks[0].env
    hosts = [end.rpartition(":")[0] for end in env.get("TRAINYARD_ENDPOINTS", "").split(",") if end]
    distinct = list(dict.fromkeys(hosts))
    return distinct if 0 < len(distinct) <= WAITED_FOR else [env["TRAINYARD_MASTER_ADDR"]]


def common(ranks: Sequence[RankPlan]) -> dict[str, str]:
    """The variables that are the same for all of them."""
    first = ranks[0].env
    return {name: first[name] for name in sorted(first) if all(rank.env.get(name) == first[name] for rank in ranks)}


def by_role(made: AttemptPlan) -> dict[str, list[RankPlan]]:
    roles: dict[str, list[RankPlan]] = {}
    for rank in made.ranks:
        roles.setdefault(rank.place.role, []).append(rank)
    return roles


def packed(made: AttemptPlan, *, source: bool = False) -> str:
    """The plan as the ConfigMap's binary data has it; the same bytes for the same plan. `source`: the job's folder comes as
    an archive."""
    document: dict[str, Any] = {"grace": made.grace, "hosts": waited_for(made), "roles": {}}
    if source:
        document["source"] = {"archive": SOURCE, "folder": FOLDER}
    for role, ranks in by_role(made).items():
        same = common(ranks)
        document["roles"][role] = {
            "processes": ranks[0].place.processes,
            "ranks": [
                {
                    "rank": rank.place.rank,
                    "command": list(rank.command),
                    "cwd": rank.cwd,
                    "env": {name: value for name, value in sorted(rank.env.items()) if name not in same},
                }
                for rank in ranks
            ],
        }
    text = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def _folders(job: Job, seats: Sequence[Place]) -> Folders:
    results = f"{VOLUME}/{job.job_id}"
    reports: Mapping[int, str] = {place.rank: f"{RUN}/report-{place.rank}" for place in seats}
    return Folders(
        workdir=FOLDER if job.spec.archive else job.spec.workdir or f"{results}/output",
        output=f"{results}/output",
        checkpoint=f"{results}/checkpoint",
        worker=WORKER,
        reports=reports,
    )
