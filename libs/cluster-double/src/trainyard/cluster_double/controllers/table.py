"""All controllers of the double, started and stopped together."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Self

from trainyard.cluster_double.api import create
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import WriteOptions
from trainyard.cluster_double.controllers import accounts, garbage, jobs, namespaces, nodes
from trainyard.cluster_double.controllers.queue import Controller, Queue
from trainyard.cluster_double.controllers.scheduler import Scheduler

FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Controllers:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        found: list[Controller] = list(namespaces.controllers(cluster))
        if cluster.settings.controllers:
            found += [
                *garbage.controllers(cluster),
                *jobs.controllers(cluster),
                *accounts.controllers(cluster),
                *nodes.controllers(cluster),
            ]
        if cluster.settings.scheduler:
            found.append(Scheduler(cluster).controller())
        self._queue = Queue(found)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._cluster.store.listeners.append(self._queue.tell)
        self._task = asyncio.create_task(self._queue.run())
        resource = self._cluster.registry.named("namespaces")
        for name in FIRST_NAMESPACES:
            create.create(self._cluster, resource, "", {"metadata": {"name": name}}, WriteOptions())
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._cluster.store.listeners.remove(self._queue.tell)
        self._queue.close()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
