"""The backend for Kubernetes: an attempt is a few objects; their controllers make the pods, the scheduler places them.

Everything that is written has a name that follows from job and attempt, and is applied, or created where others write into it
from then on: a launcher that was killed at any line, or two of them at once, make one set of objects. Everything that is
asked is answered from the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from trainyard.common.clock import Clock
from trainyard.common.errors import TrainyardError, Unavailable
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.logs.reader import LogStore
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import MERGE, Api, Document, Refused
from trainyard.launcher.adapters.kubernetes.cache import ClusterCache, Key
from trainyard.launcher.adapters.kubernetes.logs import PodLogs
from trainyard.launcher.adapters.kubernetes.packages import Packages
from trainyard.launcher.adapters.kubernetes.sources import SourceMaps
from trainyard.launcher.core.cluster import labels, stopping
from trainyard.launcher.core.cluster.seeing import see
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, build, draft, faults, owned
from trainyard.launcher.core.observation import Pending, RankSeen
from trainyard.launcher.core.plan import Interpreter
from trainyard.launcher.ports import Report

STARTS = 16  # at once; what ends a job does not wait behind all that begin
QUOTA_DELAY = 15.0  # seconds until a namespace without room is asked again
LOGS_WAIT = 30.0  # seconds that a stop waits for the logs of pods that have ended already


@dataclass(slots=True)
class KubernetesBackend:
    """Implements ports.Backend."""

    api: Api
    cache: ClusterCache
    logs: PodLogs
    store: LogStore
    cluster: Cluster
    clock: Clock
    packages: Packages
    sources: SourceMaps
    node: str = ""
    """A job has no node of its own here; each rank has one."""
    name: str = "kubernetes"
    instant: bool = False
    poll: tuple[float, float] = (1.0, 5.0)
    """What is new wakes a job at once; this is for what only time brings."""

    _starting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(STARTS))
    _made: set[Key] = field(default_factory=set)
    """Attempts of which this launcher has made everything."""
    _stopping: dict[Key, float] = field(default_factory=dict)
    """When it began to end them (monotonic seconds)."""
    _deleted: dict[str, set[str]] = field(default_factory=dict)
    """Job → UIDs that this launcher has deleted, whether or not the cache shows it yet."""

    def faults(self, job: Job) -> Sequence[str]:
        return faults(job, self.cluster)

    async def start(self, job: Job, interpreter: Interpreter) -> None:
        del interpreter  # the container's own
        async with self._starting:
            await self._make(job)

    async def _make(self, job: Job) -> None:
        key = self._key(job)
        drafted = draft(job, self.cluster)
        wrong = faults(job, self.cluster, drafted)
        if wrong:
            raise TrainyardError("; ".join(wrong))
        made, namespace = build(job, self.cluster, drafted), key.namespace
        try:
            await self.packages.ensure(namespace)
            root = await self.api.apply(made.root)
            if job.spec.archive:
                await self.sources.apply(job.spec.archive, namespace)
            for manifest in owned(made, root["metadata"]["uid"]):
                if manifest["kind"] == kinds.SERVICE.name:
                    await self.api.apply(manifest)
                else:
                    await self._create(manifest)
        except Refused as error:
            raise self._refusal(key, error) from error
        self.cache.waits.pop(key, None)
        self._made.add(key)

    def look(self, job: Job) -> Sequence[RankSeen]:
        key = self._key(job)
        attempt = self.cache.attempt(key)
        if attempt is None:
            return []
        # After a restart of the launcher nobody knows whether all was made; applying it again finds out.
        begun = key in self._made if job.head.state is State.STARTING else bool(self.cache.makers(key))
        begun = begun or attempt.stopped is not None
        return see(job, replace(attempt, begun=begun), self.clock.now().timestamp())

    async def stop(self, job: Job, why: str) -> None:
        key = self._key(job)
        root = self.cache.root(key)
        if root is None:
            return
        try:
            if root.stopped is None and key in self._stopping:
                return  # written, and not seen yet
            if root.stopped is None:
                note = {labels.STOPPED: stopping.dump(why, self.look(job))}
                await self._note(root.namespace, root.name, note)
                self._stopping[key] = self.clock.monotonic()
                return  # the cache has to show it before anything is taken away
            if not self._may_take_away(key):
                return
            for maker in self.cache.makers(key):
                if not maker.deleting and maker.uid not in self._deleted.get(job.job_id, ()):
                    kind = kinds.kind_named(maker.group_version, maker.kind)
                    await self.api.delete(kind, maker.namespace, maker.name, maker.uid)
                    self._deleted.setdefault(job.job_id, set()).add(maker.uid)
        except Refused as error:
            raise Unavailable(f"attempt {job.attempt} of {job.job_id} cannot be ended: {error}", QUOTA_DELAY) from error

    def outputs(self, job: Job) -> str | None:
        return self.cluster.outputs(job)

    def heard_all(self, job: Job) -> bool:
        return self.logs.stored(pod.uid for pod in self.cache.pods(self._key(job)) if pod.over)

    def tail(self, job: Job, rank: int, count: int) -> Sequence[str]:
        return self.store.last_lines(job.job_id, job.attempt, rank, count)

    def reports(self, job: Job, rank: int | None, after: int) -> list[Report]:
        return self.logs.reports.after(job.job_id, job.attempt, rank, after)

    def forget(self, job: Job) -> None:
        self._made = {key for key in self._made if key.job_id != job.job_id}
        self._stopping = {key: since for key, since in self._stopping.items() if key.job_id != job.job_id}
        self._deleted.pop(job.job_id, None)

    def on_change(self, told: Callable[[str], None]) -> None:
        self.cache.changed = told

    def _key(self, job: Job) -> Key:
        return Key(self.cluster.namespace_of(job), job.job_id, job.attempt)

    async def _create(self, manifest: Document) -> None:
        """Once: others write into it from then on. Kueue, for one, says in the same field that the job may start."""
        try:
            await self.api.create(manifest)
        except Refused as error:
            if error.reason != "AlreadyExists":
                raise
            metadata = manifest["metadata"]
            there = await self.api.get(kinds.kind_of(manifest), metadata["namespace"], metadata["name"])
            owners = [owner["uid"] for owner in (there or {}).get("metadata", {}).get("ownerReferences", ())]
            if metadata["ownerReferences"][0]["uid"] not in owners:
                # Of an attempt that was cleared away and is on its way out; or somebody else's, for as long as it stays.
                raise Unavailable(
                    f"{manifest['kind']} {metadata['name']} is there and not ours", QUOTA_DELAY
                ) from error

    async def _note(self, namespace: str, name: str, notes: dict[str, str]) -> None:
        path = kinds.CONFIG_MAP.path(namespace, name)
        await self.api.call("PATCH", path, None, {"metadata": {"annotations": notes}}, MERGE)

    def _may_take_away(self, key: Key) -> bool:
        """With the pods go the logs that are not here yet."""
        since = self._stopping.setdefault(key, self.clock.monotonic())
        over = [pod.uid for pod in self.cache.pods(key) if pod.over]
        return self.logs.stored(over) or self.clock.monotonic() - since > LOGS_WAIT

    def _refusal(self, key: Key, error: Refused) -> Exception:
        if error.status == 403 and "exceeded quota" in str(error):
            now = self.clock.now().timestamp()
            known = self.cache.waits.get(key)
            self.cache.waits[key] = Pending(EndReason.QUOTA, str(error), known.since if known else now)
            return Unavailable(f"the namespace has no room: {error}", QUOTA_DELAY)
        return error
