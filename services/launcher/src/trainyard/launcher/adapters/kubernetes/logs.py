"""Logs of pods into the log store, line by line, while the pods live; and the reports that come among the lines.

State is never learned from a log and never waits for one. A stream that breaks is taken up again from the time of the last
line that was stored; lines that come twice are recognised by their time and place among the lines of that time. So
rotation, reconnects and a restart of the launcher neither lose nor double a line that the kubelet still has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from trainyard.common.errors import Unavailable
from trainyard.common.logs.layout import rank_folder
from trainyard.common.logs.reader import LogStore
from trainyard.common.logs.writer import LogWriter
from trainyard.common.waiting import within
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api, Refused
from trainyard.launcher.adapters.kubernetes.reports import PodReports
from trainyard.launcher.adapters.kubernetes.throttle import Throttle
from trainyard.launcher.adapters.kubernetes.turns import Turns
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.cluster.lines import Cursor, Mark, cut, report
from trainyard.launcher.core.cluster.pods import Pod

log = structlog.get_logger()

STREAMS = 1000
"""Logs that are followed at once; where there are more, they take turns."""
TURN = 10.0  # seconds
ENDED = 64
"""Logs of pods that have ended, read at once: these go first, for soon the pods are no more."""
FILES = 256  # open files and connections that are for other things
SILENCE = 120.0  # seconds without a line after which a stream is opened anew: it may be dead
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds between tries
LAST_LINES = 200  # of a rank, looked at to find where an earlier launcher left off


@dataclass(slots=True)
class _Followed:
    pod: Pod
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Its container has ended."""
    gone: bool = False
    """The pod is no more."""
    cursor: Cursor | None = None
    """None: nobody has looked yet how far it is stored."""
    task: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """Lines that have been read."""
        return self.cursor.count if self.cursor is not None else 0


class PodLogs:
    def __init__(self, api: Api, root: Path, owns: Callable[[Pod], bool], opening: Throttle, files: int) -> None:
        """`owns`: whether a pod is of a job of this launcher's; `opening`: how fast logs are opened that are to be followed;
        `files`: how many this process may have open."""
        self._api = api
        self._root = root
        self._owns = owns
        self._opening = opening
        self._store = LogStore(root)
        self._turns = Turns(min(STREAMS, max(1, (files - FILES) // 3)), TURN)  # a connection and some files each
        self._ended = asyncio.Semaphore(ENDED)
        self._followed: dict[str, _Followed] = {}
        """Pod → its log while it is not stored."""
        self._stored: set[str] = set()
        """Pods that are there still and all of whose lines are here."""
        self.reports = PodReports()
        self.faults = 0
        """Errors that nobody expected."""

    def hear(self, pod: Pod, gone: bool) -> None:
        """A pod that runs or has run is followed from now on. `gone`: what was not read by now never will be."""
        followed = self._followed.get(pod.uid)
        if gone:
            self._stored.discard(pod.uid)
            self.reports.forget(pod)
        elif followed is None and (pod.running or pod.over) and pod.uid not in self._stored and self._owns(pod):
            followed = self._followed[pod.uid] = _Followed(pod)
            followed.task = asyncio.create_task(self._follow(followed), name=f"log of {pod.name}")
        if followed is not None:
            followed.gone = followed.gone or gone
            if gone or pod.over:
                followed.over.set()

    def reshare(self, pods: Iterable[Pod]) -> None:
        """The launchers have shared the jobs anew: of all pods those that are ours now. Another one's are left to it."""
        for uid in [uid for uid, one in self._followed.items() if not self._owns(one.pod)]:
            task = self._followed.pop(uid).task
            if task is not None:
                task.cancel()
        for pod in pods:
            self.hear(pod, gone=False)

    def stored(self, pods: Iterable[str]) -> bool:
        """Whether all that these pods (by UID) said is in the store."""
        return all(uid in self._stored for uid in pods)

    async def close(self) -> None:
        tasks = [one.task for one in self._followed.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, followed: _Followed) -> None:
        tries = 0
        while True:
            ended = followed.over.is_set()  # asked before the log is read to its end, not after
            before = followed.count
            if await self._all(followed, ended=ended, again=ended and tries > 0):
                break
            tries = 0 if followed.count > before else tries + 1
            delay = BACKOFF[min(tries, len(BACKOFF) - 1)]
            if ended:
                await asyncio.sleep(delay)
            elif await within(followed.over, delay):
                tries = 0
        if self._followed.get(followed.pod.uid) is followed:
            del self._followed[followed.pod.uid]
            if not followed.gone:
                self._stored.add(followed.pod.uid)

    async def _all(self, followed: _Followed, *, ended: bool, again: bool) -> bool:
        """Reads what there is; whether there is no more. `ended`: the container has; `again`: it was asked for after that."""
        try:
            await (self._rest(followed) if ended else self._live(followed))
        except (Refused, Unavailable, OSError) as error:
            log.info("a log is taken up again", pod=followed.pod.name, fault=str(error))
            return _is_all(error, followed, again=again)
        except Exception as error:  # one pod's trouble is not the launcher's, nor the end of its log
            self.faults += 1
            log.error("a log cannot be read; trying again", pod=followed.pod.name, faults=self.faults, exc_info=error)
            return followed.gone
        return ended

    async def _live(self, followed: _Followed) -> None:
        """For as long as it speaks, and there is room."""
        seconds = self._opening.place()
        if seconds > 0 and await within(followed.over, seconds):
            return  # what has ended is read at once
        async with self._turns.turn(unless=followed.over) as room:
            if room:
                await self._read(followed, follow=True)

    async def _rest(self, followed: _Followed) -> None:
        async with self._ended:
            await self._read(followed, follow=False)

    async def _read(self, followed: _Followed, *, follow: bool) -> None:
        pod = followed.pod
        cursor = followed.cursor
        if cursor is None:
            cursor = followed.cursor = await asyncio.to_thread(self._resume, pod)
        query = {"container": labels.CONTAINER, "timestamps": "true", "follow": "true" if follow else "false"}
        if cursor.since:
            query["sinceTime"] = cursor.since
        path = kinds.POD.path(pod.namespace, pod.name, "log")
        with ExitStack() as files:
            writers: dict[int, LogWriter] = {}
            async with self._api.stream(path, query, SILENCE, cut=True) as lines:
                cursor.begin()
                async for line in lines:
                    mark = cut(line)
                    if mark is not None and cursor.take(mark):
                        self._store_line(pod, mark, writers, files)

    def _store_line(self, pod: Pod, mark: Mark, writers: dict[int, LogWriter], files: ExitStack) -> None:
        document = report(mark.text)
        if document is not None:
            self.reports.learn(pod, document)
            return
        rank, text = pod.rank_of(mark.text)
        if rank not in writers:
            writers[rank] = LogWriter(rank_folder(self._root, pod.job_id, pod.attempt, rank))
            files.callback(writers[rank].close)
        writers[rank].line(mark.time, "stdout", text)

    def _resume(self, pod: Pod) -> Cursor:
        """Behind the last line of this pod's ranks that is stored."""
        stored: list[str] = []
        for rank in pod.ranks:
            offset = self._store.tail(pod.job_id, pod.attempt, rank, LAST_LINES)
            chunk = self._store.read(pod.job_id, pod.attempt, rank, offset)
            stored += [line.time for line in chunk.lines]
        last = max(stored, default="")
        return Cursor(last, stored.count(last) if last else 0)


def _is_all(error: Exception, followed: _Followed, *, again: bool) -> bool:
    """Whether no more of a log is to be had. `again`: it was asked for before, after the pod's end."""
    if isinstance(error, Refused):
        return again or error.status == 404
    return followed.gone and isinstance(error, OSError)
