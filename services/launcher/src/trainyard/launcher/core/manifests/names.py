"""Names of a job's objects: they follow from job and attempt, so whoever makes them makes the same ones.

The attempt is part of every name: what an earlier attempt left, pods on their way out above all, is never taken for the
present one. The longest, the host name of a pod, stays below 63 characters whatever the job file says.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests.cluster import Cluster
from trainyard.launcher.core.manifests.shapes import Shape, shape

LONGEST = 63
"""Of a DNS label."""
_NAME, _TAIL, _ROLE = 24, 8, 12  # characters of the job's name, of its id and of a role


@dataclass(frozen=True, slots=True)
class Names:
    namespace: str
    domain: str
    root: str
    """The ConfigMap that owns everything; also the Service's name, and that of a JobSet or a Volcano Job."""
    within: str = ""
    """What a JobSet puts between the name of a role and a pod's index: which of the role's Jobs it is."""

    @classmethod
    def of(cls, job: Job, cluster: Cluster) -> Names:
        name = job.spec.name[:_NAME].rstrip("-")
        if name[0].isdigit():  # the name of a Service begins with a letter (RFC 1035)
            name = f"j{name}"[:_NAME].rstrip("-")
        within = "-0" if shape(job, cluster) is Shape.JOB_SET else ""
        return cls(cluster.namespace_of(job), cluster.domain, f"{name}-{job.job_id[-_TAIL:]}-{job.attempt}", within)

    def maker(self, role: str) -> str:
        """Of the object that makes the pods of a role."""
        return f"{self.root}-{short(role)}"

    def host(self, role: str, index: int | str) -> str:
        """Of a pod, as the others of the job find it. The index may be a variable's reference."""
        return f"{self.maker(role)}{self.within}-{index}.{self.root}.{self.namespace}.svc.{self.domain}"


def short(role: str) -> str:
    """A role's name, or its beginning and a mark that tells it from others with the same beginning."""
    if len(role) <= _ROLE:
        return role
    mark = hashlib.sha256(role.encode()).hexdigest()[:4]
    return f"{role[: _ROLE - 5].rstrip('-')}-{mark}"
