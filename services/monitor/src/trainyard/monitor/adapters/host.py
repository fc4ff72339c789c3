"""The machine itself as a device: cores and memory by psutil, and the processes of each job with their descendants.

This is what a CPU job occupies. Accelerators have collectors of their own behind the same port.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import psutil

from trainyard.common.contract.events import Device, Usage


class HostCollector:
    """Implements ports.Collector."""

    def __init__(self) -> None:
        self._cpu_seconds: dict[tuple[int, float], tuple[float, float]] = {}
        psutil.cpu_percent()  # the first call only sets the mark that the next one measures from

    def devices(self) -> list[Device]:
        memory = psutil.virtual_memory()
        return [
            Device(
                id="cpu",
                kind="cpu",
                model=f"{psutil.cpu_count() or 1} cores",
                utilisation=psutil.cpu_percent() / 100,
                memory_used=memory.total - memory.available,
                memory_total=memory.total,
            )
        ]

    def usage(self, pids: Mapping[str, Sequence[int]]) -> list[Usage]:
        seen: dict[tuple[int, float], tuple[float, float]] = {}
        found = [self._of_job(job_id, main, seen) for job_id, main in pids.items()]
        self._cpu_seconds = seen  # processes that are gone are forgotten
        return found

    def _of_job(self, job_id: str, pids: Sequence[int], seen: dict[tuple[int, float], tuple[float, float]]) -> Usage:
        cores, memory, count = 0.0, 0, 0
        for process in _trees(pids):
            try:
                with process.oneshot():
                    times, created = process.cpu_times(), process.create_time()
                    memory += process.memory_info().rss
            except psutil.Error:
                continue
            count += 1
            key, now = (process.pid, created), time.monotonic()
            spent = times.user + times.system
            before = self._cpu_seconds.get(key)
            if before is not None and now > before[1]:
                cores += max(0.0, spent - before[0]) / (now - before[1])
            seen[key] = (spent, now)
        return Usage(job_id=job_id, cpu_cores=round(cores, 3), memory_used=memory, processes=count)


def _trees(pids: Sequence[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        try:
            process = psutil.Process(pid)
            yield process
            yield from process.children(recursive=True)
        except psutil.Error:
            continue
