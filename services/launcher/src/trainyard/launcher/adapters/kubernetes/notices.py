"""What the cluster's events say of our objects, kept for as long as somebody may ask: a few for each attempt.

One watch a reason, since a field selector knows no "or": what the API server sends is what somebody waits for, however much
else a busy cluster tells. Nothing is decided from their absence, so a launcher that may not see them goes on without.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from trainyard.common.clock import Clock
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.watching import Informer, Scope
from trainyard.launcher.core.cluster import notices
from trainyard.launcher.core.cluster.notices import Notice
from trainyard.launcher.core.manifests import Offers

ATTEMPTS = 2000
"""Of which notices are kept; the one that was told of longest ago goes first."""
EACH = 16
"""Notices of an attempt: one for each object and reason."""


class Notices:
    def __init__(self, api: Api, clock: Clock, namespaces: Sequence[str | None], offers: Offers) -> None:
        """`namespaces`: [None] for all of them."""
        self._told: OrderedDict[tuple[str, str], OrderedDict[tuple[str, str], Notice]] = OrderedDict()
        """Namespace and root → object and reason → the newest."""
        self._informers = [
            Informer(api, kinds.EVENT, Scope(namespace, fields=fields), clock, notices.read, self._on_event, keep=False)
            for namespace in namespaces
            for fields in _selectors(offers)
        ]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.run())

    def of(self, namespace: str, root: str) -> Sequence[Notice]:
        """What was told of the objects of an attempt."""
        return list(self._told.get((namespace, root), {}).values())

    def _on_event(self, before: Notice | None, after: Notice | None) -> None:
        del before
        if after is None:
            return
        for root in notices.roots(after.name):
            told = self._told.setdefault((after.namespace, root), OrderedDict())
            self._told.move_to_end((after.namespace, root))
            key = (after.name, after.reason)
            known = told.get(key)
            if known is None or after.at >= known.at:
                told[key] = after if known is None else notices.later(known, after)
                told.move_to_end(key)
            while len(told) > EACH:
                told.popitem(last=False)
        while len(self._told) > ATTEMPTS:
            self._told.popitem(last=False)


def _selectors(offers: Offers) -> Iterator[str]:
    yield "reason=FailedCreate,involvedObject.kind=Job"  # of Kubernetes' own Job, and of Volcano's
    if offers.jobset:
        yield "reason=JobCreationFailed,involvedObject.kind=JobSet"
    for reason in notices.OF_PODS:
        yield f"reason={reason},involvedObject.kind=Pod"
