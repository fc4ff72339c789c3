"""The folders of jobs, from where they were sent to into the namespaces of their pods, and away when nobody needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from trainyard.common.clock import Clock
from trainyard.common.errors import TrainyardError, Unavailable
from trainyard.common.sources.store import Sources
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api, Refused
from trainyard.launcher.adapters.kubernetes.cache import ClusterCache
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.manifests import sources

log = structlog.get_logger()

EVERY = 600.0  # seconds between two looks at what nobody needs
FRESH = 300.0  # seconds that one counts as wanted without being written again
UNUSED = 3600.0  # seconds after which one that no attempt names is deleted


class SourceMaps:
    def __init__(
        self, api: Api, sent: Sources, cache: ClusterCache, clock: Clock, namespaces: Sequence[str | None]
    ) -> None:
        """`namespaces`: [None] for all of them."""
        self._api = api
        self._namespaces = namespaces
        self._sent = sent
        self._cache = cache
        self._clock = clock
        self._written: dict[tuple[str, str], float] = {}
        """Namespace and digest → when (monotonic seconds)."""

    async def apply(self, digest: str, namespace: str) -> None:
        """Whoever needs it has said so before, in its root. Raises TrainyardError when it is nowhere any more."""
        now, key = self._clock.monotonic(), (namespace, digest)
        if now - self._written.get(key, float("-inf")) < FRESH:
            return
        archive = await self._sent.get(digest)
        if archive is None:
            raise TrainyardError("the folder of this job was sent too long ago and is gone: submit it again")
        await self._api.apply(sources.manifest(digest, namespace, archive, self._clock.now().timestamp()))
        self._written = {old: at for old, at in self._written.items() if now - at < FRESH} | {key: now}

    async def run(self, ready: Callable[[], bool]) -> None:
        """For ever. `ready`: this launcher is the one that clears away, and knows all attempts."""
        while True:
            await asyncio.sleep(EVERY)
            if ready() and self._cache.fault() is None:
                try:
                    await self._clear()
                except (Refused, Unavailable) as error:
                    log.warning("folders of jobs cannot be cleared away yet", error=str(error))

    async def _clear(self) -> None:
        found: list[sources.Held] = []  # without what is in them: an archive each
        for namespace in self._namespaces:
            path = kinds.CONFIG_MAP.path(namespace)
            async for page in self._api.pages(path, {"labelSelector": f"{labels.SOURCE}=true"}):
                found += map(sources.read, page.get("items") or ())
        named = {(root.namespace, root.source) for root in self._cache.roots()}
        for held in found:
            if (held.namespace, held.name) not in named and self._clock.now().timestamp() - held.used > UNUSED:
                await self._api.delete(kinds.CONFIG_MAP, held.namespace, held.name, held.uid, held.version)
