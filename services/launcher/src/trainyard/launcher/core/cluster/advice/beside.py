"""What is installed beside Kubernetes itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.common.contract.findings import Finding
from trainyard.launcher.core.cluster.advice.words import note, ok
from trainyard.launcher.core.cluster.survey import Survey

_INSTALLED = (
    ("nvidia.com", "GPU operator", "NVIDIA's drivers and device plugins have to be installed by other means"),
    ("nfd.k8s-sigs.io", "feature discovery", "nodes do not say what hardware they have, unless somebody labels them"),
    ("monitoring.coreos.com", "Prometheus operator", "Prometheus has to be told by hand where to scrape"),
    ("jobset.x-k8s.io", "JobSet", "a job of several roles is a Job for each, which Kueue cannot start together"),
    ("batch.volcano.sh", "Volcano", "no `gang: volcano`"),
)
"""API group, name, and what follows where it is not served."""


def installed(survey: Survey) -> Iterator[Finding]:
    for group, name, otherwise in _INSTALLED:
        yield ok(name, "installed") if survey.has(group) else note(name, f"not installed: {otherwise}")


def kueue(survey: Survey) -> Iterator[Finding]:
    if not survey.has("kueue.x-k8s.io"):
        text = "not installed: jobs do not queue for quotas, and start all pods or none only by Volcano"
        yield note("Kueue", text)
    elif survey.queues:
        text = f"queues in {survey.namespace}: {', '.join(survey.queues)}"
        yield ok("Kueue", text)
    else:
        text = f"installed, but {survey.namespace} has no LocalQueue: a job that names one waits for ever"
        yield note("Kueue", text)
