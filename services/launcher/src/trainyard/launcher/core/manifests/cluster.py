"""What is known of the cluster that a job's objects are built for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainyard.common.contract.kubernetes import Kubernetes, Toleration
from trainyard.launcher.core.job import Job


@dataclass(frozen=True, slots=True)
class Offers:
    """What is installed beside Kubernetes itself."""

    jobset: bool = False
    kueue: bool = False
    volcano: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    namespace: str = "default"
    """Of jobs that name none."""
    namespaces: frozenset[str] = frozenset()
    """The only ones where jobs may run; empty: `namespace`, and for a TrainingJob the one that it is in."""
    domain: str = "cluster.local"
    offers: Offers = Offers()
    tolerations: tuple[Toleration, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    output_claim: str | None = None
    """A PersistentVolumeClaim (ReadWriteMany) for results and checkpoints; None: they end with the pods."""
    worker: str = "trainyard-worker"
    """The ConfigMap that holds the package trainyard.worker as a zip."""

    def namespace_of(self, job: Job) -> str:
        return block(job).namespace or self.namespace

    def outputs(self, job: Job) -> str | None:
        """Where a job's results are, for people."""
        return f"pvc://{self.namespace_of(job)}/{self.output_claim}/{job.job_id}/output" if self.output_claim else None


def block(job: Job) -> Kubernetes:
    """What the job file says of the cluster; the defaults where it says nothing."""
    return job.spec.kubernetes or Kubernetes()
