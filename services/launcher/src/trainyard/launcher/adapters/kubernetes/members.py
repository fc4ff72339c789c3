"""The launchers of a cluster: each holds a Lease of its own and looks at those of the others.

There is no single leader. A job belongs to one living member (`core/cluster/sharing`); should two tend it for a moment, they
do the same, and the log takes only one of two events. Whether a member lives is judged by how long its Lease has not changed
by our own clock (`core/cluster/leases`), never by the time that it wrote: clocks differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC

import structlog

from trainyard.common.clock import Clock
from trainyard.common.errors import Unavailable
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api, Document, Refused
from trainyard.launcher.adapters.kubernetes.watching import Informer, Scope
from trainyard.launcher.core.cluster import labels, sharing
from trainyard.launcher.core.cluster.leases import Leases

log = structlog.get_logger()

COMPONENT = "app.kubernetes.io/component"
LAUNCHER = "launcher"
RENEW = 4.0  # seconds
DEAD_AFTER = 15.0  # seconds without a change of the Lease
FORGOTTEN_AFTER = 600.0  # seconds after which the Lease of a dead member is deleted


class Members:
    """Implements ports.Share."""

    def __init__(self, api: Api, clock: Clock, namespace: str, name: str) -> None:
        self.name = name
        self._api = api
        self._clock = clock
        self._namespace = namespace
        self._held = Leases(name, lasts=DEAD_AFTER, gap=2 * RENEW)
        self._told: list[Callable[[], None]] = []
        selector = f"{labels.SELECTOR},{COMPONENT}={LAUNCHER}"
        scope = Scope(namespace, selector)
        self._leases = Informer[Document](api, kinds.LEASE, scope, clock, lambda lease: lease, self._on_lease)

    def owns(self, job_id: str) -> bool:
        return sharing.owner(job_id, self._held.living) == self.name

    @property
    def first(self) -> bool:
        """Whether this one does what is done once."""
        return sharing.first(self._held.living) == self.name

    def on_change(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leases.run())
            group.create_task(self._renew())

    async def leave(self) -> None:
        """The others take over at once."""
        held = self._held.held(self.name)
        if held is not None:
            try:
                await self._api.delete(kinds.LEASE, self._namespace, self._lease(self.name), held.uid)
            except (Unavailable, Refused) as error:
                log.info("the others will notice by themselves that this launcher is gone", fault=str(error))

    async def _renew(self) -> None:
        while True:
            try:
                await self._api.apply(self._document(), urgent=True)
                if self.first:
                    await self._clear_away()
            except (Unavailable, Refused) as error:
                # Nobody sees us any more, perhaps. What we do meanwhile harms nobody: see above.
                log.warning("the lease cannot be renewed", fault=str(error))
            self._look()
            await asyncio.sleep(RENEW)

    def _look(self) -> None:
        if self._held.look(self._clock.monotonic()):
            log.info("launchers", living=sorted(self._held.living))
            for told in self._told:
                told()

    async def _clear_away(self) -> None:
        for member, held in self._held.forgotten(self._clock.monotonic(), FORGOTTEN_AFTER):
            # In the version that was seen: one that comes to life at this moment keeps its Lease.
            await self._api.delete(kinds.LEASE, self._namespace, self._lease(member), held.uid, held.version)

    def _on_lease(self, before: Document | None, after: Document | None) -> None:
        lease = after or before or {}
        member = str((lease.get("spec") or {}).get("holderIdentity") or "")
        if not member:
            return
        if after is None:
            self._held.gone(member)
        else:
            metadata = after["metadata"]
            self._held.saw(member, metadata["resourceVersion"], metadata["uid"], self._clock.monotonic())
        self._look()

    def _document(self) -> Document:
        return {
            "apiVersion": kinds.LEASE.group_version,
            "kind": kinds.LEASE.name,
            "metadata": {
                "name": self._lease(self.name),
                "namespace": self._namespace,
                "labels": {labels.MANAGED_BY: labels.OURS, COMPONENT: LAUNCHER},
            },
            "spec": {
                "holderIdentity": self.name,
                "leaseDurationSeconds": int(DEAD_AFTER),
                "renewTime": self._clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }

    def _lease(self, member: str) -> str:
        return f"trainyard-{LAUNCHER}-{member}"
