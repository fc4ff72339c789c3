"""The in-job library in every namespace where jobs run, for as long as they do.

It is the same for all jobs, so nobody owns it; whoever tidies up a namespace may delete it, and pods without it never start.
"""

from __future__ import annotations

import asyncio

import structlog

from trainyard.common.errors import Unavailable
from trainyard.launcher.adapters.kubernetes.api import Api, Refused
from trainyard.launcher.core.manifests.worker import Package

log = structlog.get_logger()

EVERY = 30.0  # seconds; pods that wait for it go on when it is back


class Packages:
    def __init__(self, api: Api, package: Package) -> None:
        self._api = api
        self._package = package
        self._namespaces: set[str] = set()
        """Those that have it."""

    async def ensure(self, namespace: str) -> None:
        """Raises Refused and Unavailable."""
        if namespace not in self._namespaces:
            await self._api.apply(self._package.manifest(namespace))
            self._namespaces.add(namespace)

    async def run(self) -> None:
        """For ever: applies it again, which changes nothing where it is."""
        while True:
            await asyncio.sleep(EVERY)
            for namespace in sorted(self._namespaces):
                try:
                    await self._api.apply(self._package.manifest(namespace))
                except (Unavailable, Refused) as error:
                    self._namespaces.discard(namespace)  # the next job there finds out
                    log.warning("the in-job library cannot be kept", namespace=namespace, error=str(error))
