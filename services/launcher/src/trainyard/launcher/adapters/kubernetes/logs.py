"""Logs of pods into the log store, line by line, while the pods live; and the reports that come among the lines.

State is never learned from a log and never waits for one. A stream that breaks is taken up again from the time of the last
line that was stored; lines that come twice are recognised by their time and place among the lines of that time. So
rotation, reconnects and a restart of the launcher neither lose nor double a line that the kubelet still has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import structlog

from trainyard.common.errors import Unavailable
from trainyard.common.logs.layout import rank_folder
from trainyard.common.logs.reader import LogStore
from trainyard.common.logs.writer import LogWriter
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api, Refused
from trainyard.launcher.adapters.reported import parse_numbered
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.cluster.lines import Cursor, Mark, cut, report
from trainyard.launcher.core.cluster.pods import Pod
from trainyard.launcher.ports import Report

log = structlog.get_logger()

STREAMS = 1000
"""Logs that are followed at once; the others wait until one has ended."""
SILENCE = 120.0  # seconds without a line after which a stream is opened anew: it may be dead
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds between tries
LAST_LINES = 200  # of a rank, looked at to find where an earlier launcher left off


class PodLogs:
    def __init__(self, api: Api, root: Path) -> None:
        self._api = api
        self._root = root
        self._store = LogStore(root)
        self._room = asyncio.Semaphore(STREAMS)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._over: dict[str, asyncio.Event] = {}
        """Pod → set once its container has ended."""
        self._jobs: dict[str, set[str]] = {}
        """Job → its pods."""
        self._stored: set[str] = set()
        self._reports: dict[tuple[str, int, int], Report] = {}
        """Job, attempt and rank → the newest."""

    def hear(self, pod: Pod, gone: bool) -> None:
        """A pod that runs or has run is followed from now on. `gone`: what was not read by now never will be."""
        if gone:
            if pod.uid in self._over:
                self._over[pod.uid].set()
            return
        if not (pod.running or pod.over) or not pod.job_id:
            return
        if pod.uid not in self._tasks and pod.uid not in self._stored:
            self._over[pod.uid] = asyncio.Event()
            self._jobs.setdefault(pod.job_id, set()).add(pod.uid)
            self._tasks[pod.uid] = asyncio.create_task(self._follow(pod), name=f"log of {pod.name}")
        if pod.over and pod.uid in self._over:
            self._over[pod.uid].set()

    def stored(self, pods: Iterable[str]) -> bool:
        """Whether all that these pods (by UID) said is in the store."""
        return all(uid in self._stored for uid in pods)

    def reports(self, job_id: str, attempt: int, rank: int | None, after: int) -> list[Report]:
        """Of a rank, or of the lowest that reports."""
        known = [rank] if rank is not None else sorted(key[2] for key in self._reports if key[:2] == (job_id, attempt))
        found = [self._reports.get((job_id, attempt, number)) for number in known]
        return next(([item] for item in found if item is not None and item.number > after), [])

    def forget(self, job_id: str) -> None:
        """The job has ended; streams that still run end by themselves."""
        for key in [key for key in self._reports if key[0] == job_id]:
            del self._reports[key]
        self._stored -= self._jobs.pop(job_id, set())

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _follow(self, pod: Pod) -> None:
        writers = {rank: self._writer(pod, rank) for rank in pod.ranks}
        tries = 0
        try:
            async with self._room:
                cursor = self._resume(pod)
                while True:
                    ended = self._over[pod.uid].is_set()  # asked before the log is read to its end, not after
                    before = cursor.count
                    try:
                        await self._read(pod, cursor, writers, follow=not ended)
                        if ended:
                            break
                    except Refused as error:
                        if error.status == 404 or (ended and tries):
                            break
                        log.info("a log is not given", pod=pod.name, fault=str(error))
                    except Unavailable as error:
                        log.info("a log is taken up again", pod=pod.name, fault=str(error))
                    tries = 0 if cursor.count > before else tries + 1
                    delay = BACKOFF[min(tries, len(BACKOFF) - 1)]
                    await (asyncio.sleep(delay) if ended else self._until_over(pod, delay))
        except OSError as error:
            log.error("a log cannot be stored", pod=pod.name, error=str(error))
        finally:
            for writer in writers.values():
                writer.close()
            self._stored.add(pod.uid)
            self._tasks.pop(pod.uid, None)
            self._over.pop(pod.uid, None)

    async def _until_over(self, pod: Pod, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over[pod.uid].wait()

    async def _read(self, pod: Pod, cursor: Cursor, writers: dict[int, LogWriter], *, follow: bool) -> None:
        query = {"container": labels.CONTAINER, "timestamps": "true", "follow": "true" if follow else "false"}
        if cursor.since:
            query["sinceTime"] = cursor.since
        path = kinds.POD.path(pod.namespace, pod.name, "log")
        async with self._api.stream(path, query, SILENCE) as lines:
            cursor.begin()
            async for line in lines:
                mark = cut(line)
                if mark is not None and cursor.take(mark):
                    self._store_line(pod, mark, writers)

    def _store_line(self, pod: Pod, mark: Mark, writers: dict[int, LogWriter]) -> None:
        document = report(mark.text)
        if document is not None:
            self._learn(pod, document)
            return
        rank, text = pod.rank_of(mark.text)
        writers[rank].line(mark.time, "stdout", text)

    def _learn(self, pod: Pod, document: bytes) -> None:
        made = parse_numbered(document)
        if made is None or made.rank not in pod.ranks:  # a job may print the mark itself
            return
        key = (pod.job_id, pod.attempt, made.rank)
        known = self._reports.get(key)
        if known is None or made.number > known.number:
            self._reports[key] = made

    def _writer(self, pod: Pod, rank: int) -> LogWriter:
        return LogWriter(rank_folder(self._root, pod.job_id, pod.attempt, rank))

    def _resume(self, pod: Pod) -> Cursor:
        """Behind the last line of this pod's ranks that is stored."""
        stored: list[str] = []
        for rank in pod.ranks:
            offset = self._store.tail(pod.job_id, pod.attempt, rank, LAST_LINES)
            chunk = self._store.read(pod.job_id, pod.attempt, rank, offset)
            stored += [line.time for line in chunk.lines]
        last = max(stored, default="")
        return Cursor(last, stored.count(last) if last else 0)
