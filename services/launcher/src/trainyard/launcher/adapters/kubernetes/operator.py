"""The operator: `kubectl apply` of a TrainingJob submits a job like any other, and its status shows what becomes of it.

It asks the gateway as every client does, with the resource's UID as idempotency key: however often it is killed between
asking and writing down the answer, there is one job. Deleting the resource cancels the job; a finalizer sees to that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from trainyard.common.bus.port import Bus
from trainyard.common.clock import Clock, rfc3339
from trainyard.common.contract.commands import CancelJob, ResizeJob, SubmitJob
from trainyard.common.errors import InvalidInput, StaleSequence, Unavailable
from trainyard.common.lifecycle.transitions import fold
from trainyard.common.waiting import within
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import MERGE, Api, Document, Refused
from trainyard.launcher.adapters.kubernetes.watching import Informer, Scope
from trainyard.launcher.core.cluster import changing
from trainyard.launcher.core.cluster import resource as resources
from trainyard.launcher.core.cluster.changing import Change
from trainyard.launcher.core.cluster.resource import Resource

log = structlog.get_logger()

RESYNC = 10.0  # seconds after which every resource whose job has not ended is looked at in any case: its progress
QUIET = 1.0  # seconds between two looks at a job that is being cancelled
_BY_RESOURCE = "its TrainingJob asks for another number of replicas"
AT_ONCE = 16  # resources
AGAIN = (1.0, 2.0, 5.0, 15.0)  # seconds after a fault

Key = tuple[str, str]


class Operator:
    def __init__(
        self, api: Api, bus: Bus, clock: Clock, owns: Callable[[str], bool], namespaces: Sequence[str | None]
    ) -> None:
        """`namespaces`: [None] for all of them."""
        self._api = api
        self._bus = bus
        self._clock = clock
        self._owns = owns
        self._resources = {
            namespace: Informer(api, kinds.TRAINING_JOB, Scope(namespace), clock, resources.read, self._changed)
            for namespace in namespaces
        }
        self._keys: dict[str, Key] = {}
        """Job → its resource."""
        self._due: dict[Key, float] = {}
        """Resource → when to look at it (monotonic seconds)."""
        self._faults: dict[Key, int] = {}
        self._busy: set[Key] = set()
        """Those that are being looked at."""
        self._woken = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for informer in self._resources.values():
                group.create_task(informer.run())
            group.create_task(self._work())
            group.create_task(self._resync())

    def _changed(self, before: Resource | None, after: Resource | None) -> None:
        if after is None:
            if before is not None:
                self._keys.pop(before.job_id or "", None)
            return
        if after.job_id:
            self._keys[after.job_id] = (after.namespace, after.name)
        self._ask((after.namespace, after.name))

    def _ask(self, key: Key, after: float = 0.0) -> None:
        due = self._clock.monotonic() + after
        self._due[key] = min(due, self._due.get(key, due))
        self._woken.set()

    def moved(self, job_id: str) -> None:
        """The log has moved a job."""
        key = self._keys.get(job_id)
        if key is not None:
            self._ask(key)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(RESYNC)
            for found in [found for informer in self._resources.values() for found in informer.all()]:
                if not found.status.get("endedAt") and not found.rejected:
                    self._ask((found.namespace, found.name))

    async def _work(self) -> None:
        """Several resources at once, so that a slow one delays no other; each of them by one at a time."""
        slots = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            while True:
                now = self._clock.monotonic()
                for key in [key for key, due in self._due.items() if due <= now and key not in self._busy]:
                    await slots.acquire()
                    del self._due[key]
                    self._busy.add(key)
                    group.create_task(self._turn(key, slots))
                self._woken.clear()
                soonest = min((due for key, due in self._due.items() if key not in self._busy), default=None)
                await within(self._woken, RESYNC if soonest is None else max(0.0, soonest - self._clock.monotonic()))

    async def _turn(self, key: Key, slots: asyncio.Semaphore) -> None:
        try:
            await self._look(key)
        finally:
            self._busy.discard(key)
            slots.release()
            self._woken.set()

    async def _look(self, key: Key) -> None:
        found = next((found for one in self._resources.values() if (found := one.get(*key)) is not None), None)
        if found is None or not found.ours or not self._owns(found.uid):
            self._faults.pop(key, None)
            return
        try:
            await self._reconcile(found)
            self._faults.pop(key, None)
        except (Unavailable, Refused, StaleSequence) as error:
            if isinstance(error, Refused) and error.status in {404, 409}:
                self._ask(key, AGAIN[0])  # it has changed meanwhile, which the watch has not brought yet
                return
            log.warning("a TrainingJob has to wait", name=found.name, namespace=found.namespace, error=str(error))
            self._later(key)
        except Exception as error:  # one resource's trouble is not the launcher's
            log.error("a TrainingJob cannot be handled; trying again", name=found.name, exc_info=error)
            self._later(key)

    def _later(self, key: Key) -> None:
        faults = self._faults[key] = self._faults.get(key, 0) + 1
        self._ask(key, AGAIN[min(faults, len(AGAIN)) - 1])

    async def _reconcile(self, found: Resource) -> None:
        """One step; what it writes comes back through the watch and leads to the next."""
        if found.deleting:
            await self._let_go(found)
        elif found.rejected:
            return
        elif resources.FINALIZER not in found.finalizers:
            await self._finalizers(found, [*found.finalizers, resources.FINALIZER])
        elif found.job_id is None:
            await self._submit(found)
        else:
            told = await self._bus.latest("job", found.job_id)
            words = await self._resize(found, changing.change(found, told))
            status = resources.status(found, told, self._now())
            answers = [*status["conditions"], *changing.conditions(found, words, self._now())]
            await self._write(found, {**status, "conditions": answers})

    async def _resize(self, found: Resource, change: Change | None) -> str | None:
        """Why a change of the spec is not taken; empty: it is; None: there is none. The wish is told before its generation is
        written down: whoever is killed in between tells it again, which changes nothing."""
        if change is None:
            return None
        for role, replicas in change.replicas.items():
            command = ResizeJob(job_id=found.job_id or "", role=role, replicas=replicas, message=_BY_RESOURCE)
            answer = await self._bus.request(command, timeout=30.0)
            words = str(answer.body.get("detail"))
            if answer.status in {429, 503} or answer.status >= 500 or (answer.status == 409 and "in a moment" in words):
                raise Unavailable(f"the gateway answers {answer.status}: {words}")
            if answer.status >= 300:
                return words
        return change.refused

    async def _submit(self, found: Resource) -> None:
        try:
            command = SubmitJob(spec=resources.job_file(found), idempotency_key=found.uid, owner=resources.owner(found))
        except InvalidInput as error:
            await self._write(found, resources.refused(found, str(error), self._now()))
            return
        answer = await self._bus.request(command, timeout=30.0)
        if answer.status < 300:
            await self._write(found, {"jobId": answer.body["job_id"], "state": answer.body["state"]})
        elif answer.status in {429, 503} or answer.status >= 500:
            raise Unavailable(f"the gateway answers {answer.status}: {answer.body.get('detail')}")
        else:
            await self._write(found, resources.refused(found, str(answer.body.get("detail")), self._now()))

    async def _let_go(self, found: Resource) -> None:
        if resources.FINALIZER not in found.finalizers:
            return
        job_id = found.job_id or resources.job_id_of(
            found
        )  # it may have been submitted, and the answer not written down
        told = await self._bus.latest("job", job_id)
        head = fold(job_id, ((item.seq, item.event) for item in told))
        if told and not head.terminal:
            if head.state is None or head.state.value != "cancelling":
                await self._bus.request(CancelJob(job_id=job_id, message="its TrainingJob was deleted"))
            self._ask((found.namespace, found.name), QUIET)
            return
        await self._finalizers(found, [name for name in found.finalizers if name != resources.FINALIZER])

    async def _finalizers(self, found: Resource, names: list[str]) -> None:
        path = kinds.TRAINING_JOB.path(found.namespace, found.name)
        body = {"metadata": {"finalizers": names, "resourceVersion": found.version, "uid": found.uid}}
        await self._api.call("PATCH", path, None, body, MERGE)

    async def _write(self, found: Resource, status: Document) -> None:
        if all(found.status.get(name) == value for name, value in status.items()):
            return
        path = kinds.TRAINING_JOB.path(found.namespace, found.name, "status")
        body = {"metadata": {"uid": found.uid}, "status": status}
        await self._api.call("PATCH", path, None, body, MERGE)

    def _now(self) -> str:
        return f"{rfc3339(self._clock.now())[:19]}Z"
