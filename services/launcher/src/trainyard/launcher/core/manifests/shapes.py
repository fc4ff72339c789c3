"""Which object makes the pods of a job, and who starts all of them or none. One table, read from the top.

A single role is a single Job, which is all or nothing to Kueue as it is; several roles are several Jobs, which are that only
inside of a JobSet. Volcano gangs nothing but its own Job (or a PodGroup, which other controllers know nothing of).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests.cluster import Cluster, block


class Shape(Enum):
    JOBS = "an Indexed Job for each role"
    JOB_SET = "one JobSet"
    VOLCANO = "one Job of Volcano"


@dataclass(frozen=True, slots=True)
class Rule:
    when: str
    """For people."""
    holds: Callable[[Job, Cluster], bool]
    shape: Shape


def by_kueue(job: Job, cluster: Cluster) -> bool:
    """Whether Kueue decides when the job starts."""
    wants = block(job)
    return wants.gang == "kueue" or (wants.gang == "auto" and wants.queue is not None and cluster.offers.kueue)


def _asks_for_volcano(job: Job, cluster: Cluster) -> bool:
    del cluster
    return block(job).gang == "volcano"


def _volcano_is_there(job: Job, cluster: Cluster) -> bool:
    return block(job).gang == "auto" and cluster.offers.volcano and not by_kueue(job, cluster)


def _several_roles(job: Job, cluster: Cluster) -> bool:
    return cluster.offers.jobset and len(job.spec.all_roles()) > 1


def _any(job: Job, cluster: Cluster) -> bool:
    del job, cluster
    return True


RULES = (
    Rule("`gang: volcano`", _asks_for_volcano, Shape.VOLCANO),
    Rule("`gang: auto`, Volcano is installed and Kueue does not decide", _volcano_is_there, Shape.VOLCANO),
    Rule("several roles, and JobSet is installed", _several_roles, Shape.JOB_SET),
    Rule("everything else", _any, Shape.JOBS),
)


def shape(job: Job, cluster: Cluster) -> Shape:
    return next(rule.shape for rule in RULES if rule.holds(job, cluster))
