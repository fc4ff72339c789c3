"""The only reader of the environment in this service."""

from __future__ import annotations

import math
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from trainyard.common.contract import quantities
from trainyard.common.errors import InvalidInput
from trainyard.common.images import catalogue
from trainyard.common.runtime.settings import RuntimeSettings
from trainyard.launcher.core.avoiding import settings as bad_nodes
from trainyard.launcher.core.avoiding.verdict import Rules

RANKS_A_CORE = 32
RANKS_AT_LEAST = 64
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # RFC 1123 label


@dataclass(frozen=True, slots=True)
class Settings:
    state: Path
    logs: Path
    node: str
    catalogue: Path
    cpu: float
    """Cores that jobs may have together."""
    memory: int
    """Bytes that jobs may have together."""
    backend: str = "local"
    """`local`: processes on this machine; `kubernetes`: pods of a cluster."""
    kubeconfig: str | None = None
    """None: the cluster that this runs in."""
    namespace: str = "default"
    """Where jobs run that name none, and where the launchers' leases are."""
    output_claim: str | None = None
    """A ReadWriteMany claim for what jobs write; None: that ends with the pods."""
    namespaces: frozenset[str] = frozenset()
    """The only ones where jobs may run and resources are looked at; empty: TrainingJobs of all of them, each in its own,
    and other jobs in `namespace` alone."""
    member: str = ""
    """This launcher's name among those that share a cluster."""
    api_rate: float = 100.0
    """Requests a second with which the cluster is changed, in the long run."""
    bad_nodes: Rules = field(default_factory=Rules)
    """When all jobs of a cluster avoid a node, and for how long."""
    visible: str | None = None
    """The NVIDIA GPUs that jobs may have, as CUDA_VISIBLE_DEVICES says it; None: all."""

    @property
    def ranks(self) -> int:
        """Processes that jobs may have together, however little they ask for: beyond this a machine only swaps them."""
        return max(RANKS_AT_LEAST, int(RANKS_A_CORE * self.cpu))

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        runtime = RuntimeSettings.from_env("launcher", env)
        namespace = env.get("TRAINYARD_NAMESPACE") or env.get("POD_NAMESPACE") or "default"
        return cls(
            state=runtime.state,
            logs=runtime.logs,
            node=env.get("TRAINYARD_NODE") or socket.gethostname(),
            catalogue=catalogue.folder(env),
            cpu=_cpu(env),
            memory=_memory(env),
            visible=env.get("CUDA_VISIBLE_DEVICES"),
            backend=_backend(env),
            kubeconfig=env.get("TRAINYARD_KUBECONFIG") or env.get("KUBECONFIG") or None,
            namespace=namespace,
            namespaces=_namespaces(env, namespace),
            output_claim=env.get("TRAINYARD_OUTPUT_CLAIM") or None,
            member=_member(env),
            api_rate=_positive(env, "TRAINYARD_API_RATE", 100.0, "requests a second, such as 100"),
            bad_nodes=bad_nodes.parse(env.get(bad_nodes.NAME)),
        )


def _backend(env: Mapping[str, str]) -> str:
    text = env.get("TRAINYARD_BACKEND") or "local"
    if text not in {"local", "kubernetes"}:
        raise InvalidInput.one(f"there is no backend {text!r}", "TRAINYARD_BACKEND", "local or kubernetes")
    return text


def _namespaces(env: Mapping[str, str], default: str) -> frozenset[str]:
    """TRAINYARD_NAMESPACES, with commas between them. The one of jobs that name none must be among them."""
    names = frozenset(name.strip() for name in (env.get("TRAINYARD_NAMESPACES") or "").split(",") if name.strip())
    for name in sorted(names):
        if not _NAMESPACE.fullmatch(name):
            raise InvalidInput.one(f"{name!r} is no name of a namespace", "TRAINYARD_NAMESPACES", "a,b,c")
    if names and default not in names:
        raise InvalidInput.one(
            f"{default!r}, where jobs run that name no namespace, is not among them",
            "TRAINYARD_NAMESPACES",
            "add it, or set TRAINYARD_NAMESPACE to one of them",
        )
    return names


def _member(env: Mapping[str, str]) -> str:
    """The pod's name, which is its own; on a machine with several launchers of one cluster it must be set."""
    name = env.get("TRAINYARD_MEMBER") or env.get("POD_NAME") or socket.gethostname()
    return re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-")[:40] or "launcher"


def _cpu(env: Mapping[str, str]) -> float:
    # What this process may use, which in a container is less than the machine has.
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _positive(env, "TRAINYARD_CPU", float(here), "a number of cores, such as 4 or 0.5")


def _positive(env: Mapping[str, str], name: str, otherwise: float, example: str) -> float:
    text = env.get(name)
    if not text:
        return otherwise
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise InvalidInput.one(f"{text!r} is not {example.partition(',')[0]}", name, example)
    return value


def _cgroup_memory() -> float:
    """What the container that we are in may use; infinite where nobody says. Source: cgroup v2, `memory.max`."""
    try:
        return float(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):  # no cgroup v2, or `max`
        return math.inf


def _memory(env: Mapping[str, str]) -> int:
    text = env.get("TRAINYARD_MEMORY")
    if not text:
        return int(min(psutil.virtual_memory().total, _cgroup_memory()) * 0.9)
    try:
        return quantities.size(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise InvalidInput.one(str(error), "TRAINYARD_MEMORY") from None
