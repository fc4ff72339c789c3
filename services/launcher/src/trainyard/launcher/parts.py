"""What a launcher is put together from, and what differs between a machine and a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainyard.launcher.core.admission import Admission, Need
from trainyard.launcher.core.avoiding.nodes import Anywhere, Nodes
from trainyard.launcher.core.avoiding.record import Record
from trainyard.launcher.core.devices import Device
from trainyard.launcher.core.job import Job
from trainyard.launcher.ports import Backend, Images, Share

Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class Parts:
    backend: Backend
    images: Images
    admission: Admission
    need: Callable[[Job], Need]
    """What admission counts for a job."""
    nodes: Nodes = field(default_factory=Anywhere)
    share: Share | None = None
    accelerators: Callable[[], Sequence[Device]] = tuple
    """Those of this machine, at this moment; may take a second."""
    work: list[Work] = field(default_factory=list)
    """What runs beside the reconciler."""
    moved: Callable[[str], None] = lambda job_id: None
    """Hears the id of every job that the log has moved."""
    leave: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    """What others are told at an orderly end."""
    close: list[Callable[[], Awaitable[None]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Progress:
    """What the launcher knows of the log, for what runs beside the reconciler."""

    caught_up: Callable[[], bool]
    attempt: Callable[[str], int | None]
    """The attempt of a job that counts; None: it has ended."""
    namespace: Callable[[str], str | None]
    """Where the pods of a job are; None: it has ended, or nobody knows it."""
    records: Callable[[], Mapping[str, Record]]
    """What it says of nodes, by name."""
