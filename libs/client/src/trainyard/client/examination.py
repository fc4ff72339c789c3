"""What a cluster offers. A program of the launcher's looks, since the Kubernetes client is there and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import TypeAdapter

from trainyard.common.contract.findings import Finding
from trainyard.common.errors import InvalidInput, TrainyardError, Unauthorized, Unavailable

PATIENCE = 120.0  # seconds: a large cluster's nodes come page by page
_FINDINGS = TypeAdapter(list[Finding])
_FAULTS: dict[int, Callable[[str], TrainyardError]] = {2: InvalidInput.one, 3: Unauthorized}
"""By the exit code of the launcher's program."""


@dataclass(frozen=True, slots=True)
class Where:
    kubeconfig: str | None
    """None: the cluster that this runs in, as a pod of it."""
    context: str | None
    namespace: str

    @classmethod
    def read(cls, env: Mapping[str, str], kubeconfig: str | None, context: str | None, namespace: str | None) -> Self:
        """Where kubectl looks too."""
        named = kubeconfig or env.get("TRAINYARD_KUBECONFIG") or env.get("KUBECONFIG")
        usual = (
            None
            if "KUBERNETES_SERVICE_HOST" in env
            else str(Path(env.get("HOME", "~"), ".kube", "config").expanduser())
        )
        return cls(named or usual, context, namespace or env.get("TRAINYARD_NAMESPACE") or "default")

    def options(self) -> list[str]:
        given = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--namespace": self.namespace}
        return [word for name, value in given.items() if value is not None for word in (name, value)]


def examine(purpose: Literal["jobs", "installation"], where: Where) -> list[Finding]:
    """Raises InvalidInput without a cluster, Unauthorized where it does not know us, Unavailable when it does not answer."""
    command = [sys.executable, "-m", "trainyard.launcher.adapters.kubernetes.examine", purpose, *where.options()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"the cluster has not answered within {PATIENCE:g} s") from None
    if done.returncode == 0:
        return _FINDINGS.validate_json(done.stdout)
    said = done.stderr.strip().rpartition("\n")[2] or f"the examination ended with code {done.returncode}"
    raise _FAULTS.get(done.returncode, Unavailable)(said)
