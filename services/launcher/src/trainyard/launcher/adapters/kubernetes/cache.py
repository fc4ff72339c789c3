"""What the cluster has of our jobs, by attempt: pods, what makes them, and roots. Kept true by informers.

Labels are no proof: whoever may make a pod can label it. What counts for a job is in the job's own namespace, an attempt's
makers are those that its root owns, and its pods those that these control (where another controller stands between, as for
a JobSet: that somebody controls).

Also remembered: the last that was seen of pods that are no more. How they ended is told by nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from trainyard.common.clock import Clock
from trainyard.common.errors import Unavailable
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.kinds import Kind
from trainyard.launcher.adapters.kubernetes.watching import Informer, Scope
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.cluster.makers import Maker, Root, read_maker, read_root
from trainyard.launcher.core.cluster.notices import Notice, explain, refused
from trainyard.launcher.core.cluster.pods import Pod, read
from trainyard.launcher.core.cluster.seeing import Attempt, Replica, newest
from trainyard.launcher.core.observation import Pending

BLIND = 20.0  # seconds of a fault after which what is known is too old to decide from


class Key(NamedTuple):
    namespace: str
    job_id: str
    attempt: int


class ClusterCache:
    def __init__(self, api: Api, clock: Clock, namespaces: Sequence[str | None], makers: Sequence[Kind]) -> None:
        """`namespaces`: [None] for all of them; `makers`: the kinds that the cluster has."""
        self.changed: Callable[[str], None] = lambda job_id: None
        """Hears the id of a job of which there is something new."""
        self._pods: dict[Key, dict[str, Pod]] = {}
        self._lost: dict[Key, dict[Replica, Pod]] = {}
        self._makers: dict[Key, dict[str, Maker]] = {}
        self._ever: dict[Key, dict[str, Maker]] = {}
        """Also those that are no more, by UID: their pods outlive them for a while."""
        self._unmade: set[Key] = set()
        """Attempts of which somebody has deleted what makes the pods."""
        self._roots: dict[Key, Root] = {}
        self.waits: dict[Key, Pending] = {}
        """Why nothing could be made so far (a quota), as the one who tried was told."""
        self.on_pod: Callable[[Pod, bool], None] = lambda pod, gone: None
        """Hears of the pods of every attempt that is not cleared away yet; `gone`: it is no more."""
        self.told: Callable[[str, str], Sequence[Notice]] = lambda namespace, root: ()
        """What the cluster's events say of the objects of an attempt, by the name of its root."""
        self._informers: list[Informer[Pod] | Informer[Maker] | Informer[Root]] = []
        for at in (Scope(namespace, labels.SELECTOR) for namespace in namespaces):
            self._informers.append(Informer(api, kinds.POD, at, clock, read, self._on_pod))
            self._informers.append(Informer(api, kinds.CONFIG_MAP, at, clock, read_root, self._on_root))
            for kind in makers:
                maker = partial(read_maker, kind.group_version, kind.name)
                self._informers.append(Informer(api, kind, at, clock, maker, self._on_maker))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.run())

    def fault(self) -> str | None:
        """Why nothing can be decided at this moment; None: what is here is what there is."""
        for informer in self._informers:
            if not informer.synced:
                return informer.fault or "the cluster is still being read"
            if informer.blind_for > BLIND:
                return informer.fault or "the cluster does not answer"
        return None

    def root(self, key: Key) -> Root | None:
        return self._roots.get(key)

    def roots(self) -> Iterable[Root]:
        return self._roots.values()

    def makers(self, key: Key) -> list[Maker]:
        return [maker for maker in self._makers.get(key, {}).values() if self._is_ours(key, maker)]

    def pods(self, key: Key) -> list[Pod]:
        return [pod for pod in self._pods.get(key, {}).values() if self._belongs(key, pod)]

    def _is_ours(self, key: Key, maker: Maker) -> bool:
        root = self._roots.get(key)
        return root is not None and root.uid in maker.owners

    def _belongs(self, key: Key, pod: Pod) -> bool:
        makers = {uid: maker.kind for uid, maker in self._ever.get(key, {}).items() if self._is_ours(key, maker)}
        return pod.owner is not None and (pod.owner.uid in makers or pod.owner.kind not in makers.values())

    def all_pods(self) -> list[Pod]:
        """Of every attempt that is not cleared away yet."""
        alive = (key for key, root in self._roots.items() if root.ended_at is None)
        return [pod for key in alive for pod in self.pods(key)]

    def attempt(self, key: Key) -> Attempt | None:
        """None: it was never begun, or everything of it is gone. Raises Unavailable while the cluster cannot be seen."""
        fault = self.fault()
        if fault is not None:
            raise Unavailable(fault)
        root, makers = self._roots.get(key), self.makers(key)
        if root is None:
            return None
        told = self.told(root.namespace, root.name)
        pods = self.pods(key)
        return Attempt(
            pods=newest(explain(pod, told) for pod in pods) if told else newest(pods),
            lost=self._lost.get(key, {}),
            stopped=root.stopped,
            expected=key not in self._unmade and not any(maker.failed or maker.deleting for maker in makers),
            waits=self.waits.get(key)
            or next((maker.waits for maker in makers if maker.waits is not None), None)
            or refused(told),
        )

    def _forget(self, key: Key) -> None:
        self._lost.pop(key, None)
        self._unmade.discard(key)
        self._ever.pop(key, None)
        self.waits.pop(key, None)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        pod = after or before
        if pod is None or not pod.job_id:
            return
        key = Key(pod.namespace, pod.job_id, pod.attempt)
        if after is None:
            self._pods.get(key, {}).pop(pod.uid, None)
            if not self._pods.get(key):
                self._pods.pop(key, None)
            if key in self._roots and self._belongs(key, pod):  # otherwise all of the attempt is being cleared away
                self._lost.setdefault(key, {})[pod.role, pod.index] = pod
        else:
            if before is not None and before.uid != after.uid:  # another one under the same name
                self._on_pod(before, None)
            self._pods.setdefault(key, {})[after.uid] = after
        if after is None:
            self.on_pod(pod, True)
        elif self._belongs(key, pod):
            self._tell(key, [pod])
        self.changed(pod.job_id)

    def _tell(self, key: Key, pods: Iterable[Pod]) -> None:
        """Of pods that are there, unless the attempt is being cleared away."""
        root = self._roots.get(key)
        if root is not None and root.ended_at is None:
            for pod in pods:
                self.on_pod(pod, False)

    def _on_root(self, before: Root | None, after: Root | None) -> None:
        root = after or before
        if root is None or not root.job_id:
            return
        key = Key(root.namespace, root.job_id, root.attempt)
        if after is None:
            if (known := self._roots.get(key)) is not None and known.uid == root.uid:
                del self._roots[key]
                self._forget(key)
        else:
            self._roots[key] = after
            if before is None:
                self._tell(key, self.pods(key))
        self.changed(root.job_id)

    def _on_maker(self, before: Maker | None, after: Maker | None) -> None:
        maker = after or before
        if maker is None or not maker.job_id:
            return
        key = Key(maker.namespace, maker.job_id, maker.attempt)
        known = self._makers.setdefault(key, {})
        if before is not None:
            known.pop(before.uid, None)
        if after is not None:
            known[after.uid] = after
            self._ever.setdefault(key, {})[after.uid] = after
            if before is None:
                self._tell(key, [pod for pod in self.pods(key) if pod.owner is not None and pod.owner.uid == after.uid])
        elif self._is_ours(key, maker):
            self._unmade.add(key)
        elif key not in self._roots:
            self._ever.pop(key, None)
        if not known:
            del self._makers[key]
        self.changed(maker.job_id)
