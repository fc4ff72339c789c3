"""The plan of an attempt for the runner inside of its pods: what every process is started with.

Most variables are the same for all ranks of a role; they stand in the pod itself, where `kubectl` shows them. The rest is in
the root's ConfigMap, compressed: a thousand ranks with a TF_CONFIG each would not fit otherwise (1 MiB).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from trainyard.launcher.core import plan
from trainyard.launcher.core.frameworks.shape import Place, Rendezvous
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests.cluster import Cluster
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.plan import AttemptPlan, Folders, Interpreter, RankPlan

PORT = 29500
"""Of the rendezvous; each process has the one that is as much higher as its place in the pod, and one more."""
INTERFACE = "eth0"
"""What a container's network interface is called by nearly every network plugin."""
HOME = "/trainyard"
WORKER = f"{HOME}/lib/worker.zip"
PLAN = f"{HOME}/plan/plan.json.gz"
RUN = f"{HOME}/run"
VOLUME = f"{HOME}/volume"


def attempt(job: Job, cluster: Cluster, names: Names) -> AttemptPlan:
    seats = [place for place, _ in plan.places(job.spec)]
    return plan.build(
        job,
        folders=_folders(job, seats),
        interpreter=Interpreter(None, None),
        rendezvous=rendezvous(seats, names),
        inherited={},
        traceparent=job.trace,
    )


def rendezvous(seats: Sequence[Place], names: Names) -> Rendezvous:
    hosts = [names.host(place.role, place.replica) for place in seats]
    endpoints = tuple(f"{host}:{PORT + 1 + place.process}" for host, place in zip(hosts, seats, strict=True))
    return Rendezvous(hosts[0], PORT, endpoints, INTERFACE)


def common(ranks: Sequence[RankPlan]) -> dict[str, str]:
    """The variables that are the same for all of them."""
    first = ranks[0].env
    return {name: first[name] for name in sorted(first) if all(rank.env.get(name) == first[name] for rank in ranks)}


def by_role(made: AttemptPlan) -> dict[str, list[RankPlan]]:
    roles: dict[str, list[RankPlan]] = {}
    for rank in made.ranks:
        roles.setdefault(rank.place.role, []).append(rank)
    return roles


def packed(made: AttemptPlan) -> str:
    """The plan as the ConfigMap's binary data has it; the same bytes for the same plan."""
    document: dict[str, Any] = {"grace": made.grace, "roles": {}}
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
        workdir=job.spec.workdir or f"{results}/output",
        output=f"{results}/output",
        checkpoint=f"{results}/checkpoint",
        worker=WORKER,
        reports=reports,
    )
