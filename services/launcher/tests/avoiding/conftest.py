"""Nodes, jobs and what is known of them, as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainyard.common.contract.inventory import Node
from trainyard.common.contract.nodes import Avoided, Machine
from trainyard.launcher.core.avoiding.nodes import Choice
from trainyard.launcher.core.avoiding.record import Record, Strike
from trainyard.launcher.core.job import Job


class KnownNodes:
    """Implements core.avoiding.nodes.Nodes over a table."""

    patience = 300.0

    def __init__(self, *usable: str, avoids: tuple[Avoided, ...] = ()) -> None:
        self._usable = usable
        self._avoids = avoids

    def machine(self, name: str, at: float) -> Machine:
        del at
        return Machine(node=name, uid=f"uid-{name}")

    def choose(self, job: Job) -> Choice:
        del job
        return Choice(self._avoids)

    def usable(self, name: str) -> bool:
        return name in self._usable


@pytest.fixture
def known_nodes() -> type[KnownNodes]:
    return KnownNodes


@pytest.fixture
def node() -> Callable[..., Node]:
    def make(name: str, **changes: Any) -> Node:
        return Node.model_validate(
            {"name": name, "backend": "kubernetes", "uid": f"uid-{name}", "created_at": 1.0, **changes}
        )

    return make


@pytest.fixture
def record() -> Callable[..., Record]:
    """Of node `n`; strikes as (job, attempt, at)."""

    def make(*strikes: tuple[str, int, float], **changes: Any) -> Record:
        told = tuple(Strike(job, attempt, at, "node-lost") for job, attempt, at in strikes)
        return Record(Machine(node="n", uid="uid-n"), told, **changes)

    return make
