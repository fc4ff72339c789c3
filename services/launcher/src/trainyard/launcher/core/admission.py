"""Who may start: a machine's cores, memory and accelerators against what waiting jobs ask for. Pure.

The order is strict: higher priority first, then older first, and nobody passes the head of the queue. A small job that
slipped past a big one could do so for ever; strict order costs some idle cores while the big one waits and starves nobody.
A job is admitted whole (all ranks) or not at all.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.quantities import human_bytes
from trainyard.launcher.core.devices import Device, Given, Pool, Want, wants_of


@dataclass(frozen=True, slots=True)
class Need:
    cpu: float
    """Cores."""
    memory: int
    """Bytes."""
    ranks: int = 0
    """Processes: each brings a supervisor, however little it asks for itself."""
    devices: tuple[Want, ...] = ()
    """Of each rank; which devices are free is the pool's knowledge."""

    def fits(self, free: Need) -> bool:
        # Sums of decimal fractions: 10 × 0.1 must fit into 1.
        return self.cpu <= free.cpu + 1e-9 and self.memory <= free.memory and self.ranks <= free.ranks

    def plus(self, other: Need, sign: int = 1) -> Need:
        return Need(
            self.cpu + sign * other.cpu,
            self.memory + sign * other.memory,
            self.ranks + sign * other.ranks,
        )


def need_of(spec: JobSpec, resolution: Resolution | None = None) -> Need:
    """What all ranks together ask for."""
    cpu, memory = 0.0, 0
    for role in spec.all_roles().values():
        count = role.replicas * role.processes
        cpu += role.resources.cpu * count
        memory += role.resources.memory * count
    return Need(cpu, memory, spec.world_size(), wants_of(spec, resolution))


def asks_for(need: Need) -> str:
    asked = f"{need.cpu:g} cores and {human_bytes(need.memory)}"
    return f"{asked} with {sum(want.count for want in need.devices)} accelerators" if need.devices else asked


class Admission:
    """The queue and what is free. Every job is in one of three places: unknown, waiting, admitted."""

    def __init__(self, capacity: Need, devices: Sequence[Device] = ()) -> None:
        self.capacity = capacity
        self._pool = Pool(devices)
        self._given: dict[str, Given] = {}
        self._admitted: dict[str, Need] = {}
        self._waiting: dict[str, Need] = {}
        self._growing: dict[str, Need] = {}
        """Admitted jobs that wait in the queue for more than they hold."""
        self._reserved: dict[str, Need] = {}
        """What the next attempt of an admitted job needs, where it is kept for it beside what the present one holds."""
        self._heap: list[tuple[int, int, str]] = []
        self._free = capacity

    @property
    def free(self) -> Need:
        return self._free

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def impossible(self, need: Need) -> str | None:
        """Why this can never start on this machine, in words; None when it can."""
        if need.fits(self.capacity) and self._pool.could(need.devices):
            return None
        faults = []
        if need.cpu > self.capacity.cpu:
            faults.append(f"{need.cpu:g} cores (there are {self.capacity.cpu:g})")
        if need.memory > self.capacity.memory:
            faults.append(f"{human_bytes(need.memory)} of memory (there are {human_bytes(self.capacity.memory)})")
        if not self._pool.could(need.devices):
            count = sum(want.count for want in need.devices)
            faults.append(f"{count} accelerators ({self._there_are()})")
        if need.ranks > self.capacity.ranks:
            faults.append(f"{need.ranks} processes (at most {self.capacity.ranks} run here at once)")
        return f"all processes together ask for {' and '.join(faults)}"

    def waits_for(self, need: Need) -> str:
        """What a waiting job asks for and what is free, in words."""
        free = self._free
        asked = asks_for(need)
        there = f"{max(0.0, free.cpu):g} and {human_bytes(max(0, free.memory))}"
        if need.devices:
            there = f"{there}; accelerators: {self._pool.free:g} of {len(self._pool.devices)}"
        return f"waits for {asked} (free: {there})"

    def devices_of(self, job_id: str) -> Given:
        """Of an admitted job: its devices, by rank; empty where it asked for none."""
        return self._given.get(job_id, ())

    def renew(self, job_id: str, need: Need, there: Collection[str]) -> Given | None:
        """Devices for another attempt of an admitted job, which holds what that needs from now on. `there`: the ids of the
        accelerators of this moment; empty: nobody knows. None: not yet, others hold them."""
        if there:
            self._pool.see(there)
        given = self._pool.renew(job_id, need.devices)
        if given is not None:
            self._given[job_id] = given
            self._hold(job_id, need)
        return given

    def resize(self, job_id: str, need: Need, *, priority: int, order: int) -> bool:
        """Whether the next attempt of an admitted job may have this need. What it lacks is kept for it beside what it holds,
        as soon as its turn in the queue has come: one that grows passes nobody either."""
        if self._reserved.get(job_id) == need:
            return True
        if not self._grows(job_id, need) and self._reserve(job_id, need):
            return True
        if job_id not in self._growing:
            heapq.heappush(self._heap, (-priority, order, job_id))
        self._growing[job_id] = need
        return False

    def settle(self, job_id: str, need: Need, given: Given) -> None:
        """It keeps the size that it has: nothing is kept for another any longer."""
        if self._growing.pop(job_id, None) is None and job_id not in self._reserved:
            return
        self._pool.give_back(job_id)
        self._pool.hold(job_id, need.devices, given)
        self._hold(job_id, need)

    def _grows(self, job_id: str, need: Need) -> bool:
        held = self._admitted[job_id]
        return not need.fits(held) or len(need.devices) > len(held.devices)

    def _reserve(self, job_id: str, need: Need) -> bool:
        held = self._admitted[job_id]
        if not need.fits(self._free.plus(held)) or not self._pool.extend(job_id, need.devices):
            return False
        both = Need(max(held.cpu, need.cpu), max(held.memory, need.memory), max(held.ranks, need.ranks), held.devices)
        self._hold(job_id, both)
        self._reserved[job_id] = need
        return True

    def _hold(self, job_id: str, need: Need) -> None:
        if job_id not in self._admitted:
            return
        self._free = self._free.plus(self._admitted[job_id]).plus(need, -1)
        self._admitted[job_id] = need
        self._growing.pop(job_id, None)
        self._reserved.pop(job_id, None)

    def occupy(self, job_id: str, need: Need, given: Given = ()) -> None:
        """A job that runs already, found after a restart: it holds its resources whether they are free or not."""
        if job_id not in self._admitted:
            self._pool.hold(job_id, need.devices, given)
            self._take(job_id, need, given)

    def offer(self, job_id: str, need: Need, *, priority: int, order: int) -> None:
        """`order`: lower is older. Offering again changes what it asks for."""
        if job_id in self._waiting:
            self._waiting[job_id] = need  # it may have been resized
        elif job_id not in self._admitted:
            self._waiting[job_id] = need
            heapq.heappush(self._heap, (-priority, order, job_id))

    def admit(self) -> list[str]:
        """The jobs that may start now, in order; their resources are taken. Those that grow find it out by asking."""
        started = []
        while self._heap:
            job_id = self._heap[0][2]
            need = self._waiting.get(job_id)
            if need is not None:
                given = self._pool.take(job_id, need.devices) if need.fits(self.free) else None
                if given is None:
                    break
                del self._waiting[job_id]
                self._take(job_id, need, given)
                started.append(job_id)
            elif job_id in self._growing and not self._reserve(job_id, self._growing[job_id]):
                break
            heapq.heappop(self._heap)  # admitted, or withdrawn while it waited
        return started

    def release(self, job_id: str) -> None:
        """The job has ended or was withdrawn."""
        self._waiting.pop(job_id, None)
        self._growing.pop(job_id, None)
        self._reserved.pop(job_id, None)
        need = self._admitted.pop(job_id, None)
        if need is not None:
            self._given.pop(job_id, None)
            self._pool.give_back(job_id)
            self._free = self._free.plus(need)
            if not self._admitted:
                self._free = self.capacity  # sums of fractions drift

    def _take(self, job_id: str, need: Need, given: Given) -> None:
        self._admitted[job_id] = need
        self._given[job_id] = given
        self._free = self._free.plus(need, -1)

    def _there_are(self) -> str:
        counted = Counter(device.product for device in self._pool.devices)
        return (
            f"there are {', '.join(f'{count} × {name}' for name, count in counted.items())}"
            if counted
            else "there are 0"
        )
