"""The labels by which the launcher knows its own objects, and nothing else: never a name, never a label of somebody else."""

from __future__ import annotations

MANAGED_BY = "app.kubernetes.io/managed-by"
OURS = "trainyard"
JOB = "trainyard.dev/job"
ATTEMPT = "trainyard.dev/attempt"
ROLE = "trainyard.dev/role"
INDEX = "batch.kubernetes.io/job-completion-index"
"""Set by the Job controller: which replica of its role a pod is."""
RANKS = "trainyard.dev/ranks"
"""An annotation on a pod: `<first rank of its role>/<processes of each pod>`."""
STOPPED = "trainyard.dev/stopped"
"""An annotation on the root of an attempt: why the launcher is ending it."""
ENDED = "trainyard.dev/ended"
"""An annotation on the root: Unix seconds since which it may be cleared away."""
KEEP = "trainyard.dev/keep"
"""An annotation on the root: for how many seconds it stays after that."""
CONTAINER = "job"
"""The container that decides."""

SELECTOR = f"{MANAGED_BY}={OURS}"
