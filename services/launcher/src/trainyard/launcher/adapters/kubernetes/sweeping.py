"""Clearing away attempts that are over: first noted, with the logs stored, and deleted a while later by their root.

Only by job id and UID, and only what bears our labels: a job's objects are never found by a name or a label of somebody
else. What a job has ended is asked of the log's own projection; terminal is for ever, so nothing cleared away comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from trainyard.common.clock import Clock
from trainyard.common.errors import Unavailable
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import MERGE, Api, Refused
from trainyard.launcher.adapters.kubernetes.cache import ClusterCache, Key
from trainyard.launcher.adapters.kubernetes.logs import PodLogs
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.cluster.makers import Root

log = structlog.get_logger()

EVERY = 10.0  # seconds
LOGS_WAIT = 300.0  # seconds that the logs of a job that has ended are waited for

Current = Callable[[str], int | None]
"""Job id → the attempt that counts; None: the job has ended."""


class Sweeper:
    def __init__(
        self, api: Api, cache: ClusterCache, logs: PodLogs, clock: Clock, owns: Callable[[str], bool], current: Current
    ) -> None:
        self._api = api
        self._cache = cache
        self._logs = logs
        self._clock = clock
        self._owns = owns
        self._current = current
        self._over: dict[str, float] = {}
        """Root → when it was seen to be over (monotonic seconds)."""

    async def run(self, ready: Callable[[], bool]) -> None:
        """For ever. `ready`: the log has been read to its end; before that nothing is known to have ended."""
        while True:
            await asyncio.sleep(EVERY)
            if not ready() or self._cache.fault() is not None:
                continue
            for root in list(self._cache.roots()):
                if self._owns(root.job_id) and self._is_over(root):
                    await self._clear(root)
            alive = {root.uid for root in self._cache.roots()}
            self._over = {uid: since for uid, since in self._over.items() if uid in alive}

    def _is_over(self, root: Root) -> bool:
        current = self._current(root.job_id)
        return current is None or root.attempt < current

    async def _clear(self, root: Root) -> None:
        since = self._over.setdefault(root.uid, self._clock.monotonic())
        now = self._clock.now().timestamp()
        try:
            if root.ended_at is None:
                pods = [pod.uid for pod in self._cache.pods(Key(root.namespace, root.job_id, root.attempt))]
                if self._logs.stored(pods) or self._clock.monotonic() - since > LOGS_WAIT:
                    path = kinds.CONFIG_MAP.path(root.namespace, root.name)
                    note = {labels.ENDED: f"{now:.0f}"}
                    await self._api.call("PATCH", path, None, {"metadata": {"annotations": note}}, MERGE)
            elif now - root.ended_at > root.keep:
                await self._api.delete(kinds.CONFIG_MAP, root.namespace, root.name, root.uid)
        except (Refused, Unavailable) as error:
            log.warning("an attempt cannot be cleared away yet", root=root.name, error=str(error))
