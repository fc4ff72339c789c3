"""Who may start: a machine's cores and memory against what waiting jobs ask for. Pure.

The order is strict: higher priority first, then older first, and nobody passes the head of the queue. A small job that
slipped past a big one could do so for ever; strict order costs some idle cores while the big one waits and starves nobody.
A job is admitted whole (all ranks) or not at all.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.quantities import human_bytes


@dataclass(frozen=True, slots=True)
class Need:
    cpu: float
    """Cores."""
    memory: int
    """Bytes."""
    accelerators: int = 0
    ranks: int = 0
    """Processes: each brings a supervisor, however little it asks for itself."""

    def fits(self, free: Need) -> bool:
        # Sums of decimal fractions: 10 × 0.1 must fit into 1.
        return (
            self.cpu <= free.cpu + 1e-9
            and self.memory <= free.memory
            and self.accelerators <= free.accelerators
            and self.ranks <= free.ranks
        )

    def plus(self, other: Need, sign: int = 1) -> Need:
        return Need(
            self.cpu + sign * other.cpu,
            self.memory + sign * other.memory,
            self.accelerators + sign * other.accelerators,
            self.ranks + sign * other.ranks,
        )


def need_of(spec: JobSpec) -> Need:
    """What all ranks together ask for."""
    cpu, memory, accelerators = 0.0, 0, 0
    for role in spec.all_roles().values():
        count = role.replicas * role.processes
        cpu += role.resources.cpu * count
        memory += role.resources.memory * count
        accelerators += role.resources.accelerators.count * count
    return Need(cpu, memory, accelerators, spec.world_size())


class Admission:
    """The queue and what is free. Every job is in one of three places: unknown, waiting, admitted."""

    def __init__(self, capacity: Need) -> None:
        self.capacity = capacity
        self._admitted: dict[str, Need] = {}
        self._waiting: dict[str, Need] = {}
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
        if need.fits(self.capacity):
            return None
        faults = []
        if need.cpu > self.capacity.cpu:
            faults.append(f"{need.cpu:g} cores (there are {self.capacity.cpu:g})")
        if need.memory > self.capacity.memory:
            faults.append(f"{human_bytes(need.memory)} of memory (there are {human_bytes(self.capacity.memory)})")
        if need.accelerators > self.capacity.accelerators:
            faults.append(f"{need.accelerators} accelerators (there are {self.capacity.accelerators})")
        if need.ranks > self.capacity.ranks:
            faults.append(f"{need.ranks} processes (at most {self.capacity.ranks} run here at once)")
        return f"all processes together ask for {' and '.join(faults)}"

    def occupy(self, job_id: str, need: Need) -> None:
        """A job that runs already, found after a restart: it holds its resources whether they are free or not."""
        if job_id not in self._admitted:
            self._take(job_id, need)

    def offer(self, job_id: str, need: Need, *, priority: int, order: int) -> None:
        """`order`: lower is older. Offering again changes nothing."""
        if job_id not in self._admitted and job_id not in self._waiting:
            self._waiting[job_id] = need
            heapq.heappush(self._heap, (-priority, order, job_id))

    def admit(self) -> list[str]:
        """The jobs that may start now, in order; their resources are taken."""
        started = []
        while self._heap:
            job_id = self._heap[0][2]
            need = self._waiting.get(job_id)
            if need is not None:
                if not need.fits(self.free):
                    break
                del self._waiting[job_id]
                self._take(job_id, need)
                started.append(job_id)
            heapq.heappop(self._heap)  # admitted, or withdrawn while it waited
        return started

    def release(self, job_id: str) -> None:
        """The job has ended or was withdrawn."""
        self._waiting.pop(job_id, None)
        need = self._admitted.pop(job_id, None)
        if need is not None:
            self._free = self._free.plus(need)
            if not self._admitted:
                self._free = self.capacity  # sums of fractions drift

    def _take(self, job_id: str, need: Need) -> None:
        self._admitted[job_id] = need
        self._free = self._free.plus(need, -1)
