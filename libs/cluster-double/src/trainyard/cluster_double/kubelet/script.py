"""What a pod shall do: start or not, say something, run a while, end in some way. Tests write it, the kubelet plays it."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from trainyard.cluster_double.core.objects import Json, labels_of, name_of
from trainyard.cluster_double.kubelet.client import Client

KILLED, TERMINATED = 137, 143


class Runner(Protocol):
    async def run(self, pod: Json, client: Client, say: Callable[[str], None], stop: asyncio.Event) -> tuple[int, str]:
        """The container's exit code and termination message, once it has ended. `stop`: it is told to end, and killed
        after the pod's grace period."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """Something that the container writes, `after` seconds from its start."""

    text: str
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Script:
    run_seconds: float | None = 0.0
    """None runs until it is told to end, or deleted."""
    exit_code: int = 0
    reason: str = ""
    """Of the container's end; Completed or Error when empty."""
    message: str = ""
    """What the container left in its termination message."""
    lines: tuple[Line, ...] = ()
    pull_seconds: float = 0.0
    waiting: str = ""
    """A reason why the container never starts: ImagePullBackOff, CreateContainerConfigError, …"""
    evicted: str = ""
    """The kubelet ends the pod for this reason, as under memory or disk pressure."""
    stop_seconds: float | None = 0.0
    """How long it takes to obey SIGTERM; None ignores it until the grace period is over."""
    stop_code: int = TERMINATED
    really: Runner | None = None
    """Runs the pod's container instead of playing it: what it says is the log, how it ends is the end."""
    restart_seconds: float = 0.2
    """Between the end of a container and its next start, where the pod's policy restarts it."""


def run(seconds: float = 0.0, exit_code: int = 0, lines: Sequence[str | Line] = ()) -> Script:
    said = tuple(Line(line) if isinstance(line, str) else line for line in lines)
    return Script(run_seconds=seconds, exit_code=exit_code, lines=said)


def forever(lines: Sequence[str | Line] = ()) -> Script:
    return replace(run(lines=lines), run_seconds=None)


def out_of_memory(after: float = 0.0) -> Script:
    return Script(run_seconds=after, exit_code=KILLED, reason="OOMKilled")


def bad_image(reason: str = "ImagePullBackOff") -> Script:
    return Script(waiting=reason)


def pushed_out(after: float = 0.0, why: str = "The node was low on resource: memory.") -> Script:
    """Evicted by the kubelet itself, with DisruptionTarget."""
    return Script(run_seconds=after, exit_code=KILLED, evicted=why)


@dataclass(frozen=True, slots=True)
class Rule:
    """Which pods play a script: names by a pattern, labels exactly."""

    script: Script | Callable[[Json], Script]
    name: str = "*"
    labels: Mapping[str, str] = field(default_factory=dict)

    def takes(self, pod: Json) -> bool:
        labels = labels_of(pod)
        return fnmatch.fnmatch(name_of(pod), self.name) and all(labels.get(k) == v for k, v in self.labels.items())

    def of(self, pod: Json) -> Script:
        return self.script if isinstance(self.script, Script) else self.script(pod)
