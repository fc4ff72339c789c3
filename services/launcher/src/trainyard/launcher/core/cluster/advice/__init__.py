"""From what a cluster offers to what follows for jobs and for an installation. One part, one function, two tables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainyard.common.contract.findings import Finding
from trainyard.launcher.core.cluster.advice import beside, hardware, place
from trainyard.launcher.core.cluster.survey import Survey

Part = Callable[[Survey], Iterator[Finding]]
JOBS: tuple[Part, ...] = (
    *(place.version, place.rights, place.namespace),
    *(hardware.nodes, hardware.accelerators, hardware.products, hardware.exporters),
    *(beside.kueue, beside.installed, place.resource, place.claims),
)
INSTALLATION: tuple[Part, ...] = (
    place.version, place.rights, place.namespace, place.classes, place.resource, place.services,
)  # fmt: skip


def of_jobs(survey: Survey) -> list[Finding]:
    """What the cluster offers to jobs, what is missing, and what follows."""
    return [finding for part in JOBS for finding in part(survey)]


def of_installation(survey: Survey) -> list[Finding]:
    """Whether Trainyard can be installed in the namespace, and how it fares where it is."""
    return [finding for part in INSTALLATION for finding in part(survey)]
