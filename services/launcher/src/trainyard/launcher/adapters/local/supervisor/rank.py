"""One rank from exec to exit record: pipes into the log, signals, grace, reaping, leftovers.

One loop waits for everything: the pipes of the rank, signals of its children, and twice a second a look for a stop wish
whose nudge was lost. A rank is over when its main process is; what that leaves behind is ended.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from trainyard.common.logs.writer import LogWriter
from trainyard.launcher.adapters.local.supervisor import outcome, record, tree

LINGER = 1.0  # seconds for what the main process left behind to end by itself, and for the pipes to run empty
KILLING = 5.0  # seconds after which what does not even die of SIGKILL is left to the kernel
LOOK = 0.5  # seconds between two looks for a stop wish
GRACE = 30.0  # seconds between SIGTERM and SIGKILL where the plan does not say
_CHUNK = 256 * 1024


class Rank:
    """`run` gives the exit record."""

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self._folder = folder
        self._plan = plan
        self._log = LogWriter(Path(plan["log"]))
        self._selector = selectors.DefaultSelector()
        self._main: subprocess.Popen[bytes] | None = None
        self._ended: tuple[int, Any, float] | None = None  # wait status, resource usage and time of the main process
        self._kill_at: float | None = None
        self._killed = False
        self._wish: dict[str, Any] | None = None
        self._terminated = False

    def run(self) -> dict[str, Any]:
        started, oom_kills = time.time(), outcome.oom_kills()
        wake = self._signals()
        wish = record.read(self._folder, record.STOP)
        if wish is not None:
            return outcome.never_began(wish, time.time())
        try:
            self._spawn()
        except OSError as error:
            refused = outcome.not_started(self._plan, error, time.time())
            self._log.feed("stderr", f"{refused['message']}\n".encode())
            self._log.close()
            return refused
        while self._ended is None:
            self._turn(wake)
        status, usage, ended = self._ended
        oom_kills = outcome.oom_kills() - oom_kills
        self._end_leftovers()
        self._log.close()
        how = outcome.ended(status, usage, self._wish, killed=self._killed, oom_kills=oom_kills)
        return {**how, "started": started, "ended": ended, "log_lost": self._log.lost}

    def _signals(self) -> int:
        """A pipe that carries the numbers of signals, so that waiting has one place."""
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._selector.register(reader, selectors.EVENT_READ, "signal")
        return reader

    def _spawn(self) -> None:
        record.reserve(self._folder, record.PID)
        process = subprocess.Popen(
            self._plan["command"],
            cwd=self._plan["cwd"],
            env=self._plan["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=partial(_in_child, os.getpid()),  # noqa: PLW1509 - this process has a single thread
        )
        self._main = process
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, name)
        who = {"supervisor": os.getpid(), "pid": process.pid, "started": time.time()}
        record.fill(self._folder, record.PID, {**who, "mark": record.process_start(process.pid)})

    def _turn(self, wake: int) -> None:
        for key, _ in self._selector.select(LOOK):
            if key.data == "signal":
                with suppress(BlockingIOError):
                    self._terminated |= signal.SIGTERM in os.read(wake, 4096)
            else:
                self._copy(key)
        self._reap()
        if self._ended is not None or self._main is None:
            return  # by itself: a wish that comes now is not why
        if self._wish is None and (wish := self._read_wish()) is not None:
            self._wish = wish
            self._kill_at = time.monotonic() + float(wish.get("grace", GRACE))
            tree.terminate(self._main.pid, os.getpid())
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._killed, self._kill_at = True, None
            tree.kill(self._main.pid, os.getpid())

    def _read_wish(self) -> dict[str, Any] | None:
        """The launcher's wish; or what is as good as one: a SIGTERM of somebody else, or that our folder was deleted."""
        wish = record.read(self._folder, record.STOP)
        if wish is None and (self._terminated or not (self._folder / record.LOCK).exists()):
            return {"grace": self._plan.get("grace", GRACE), "evicted": True}
        return wish

    def _copy(self, key: selectors.SelectorKey) -> None:
        """One chunk of a pipe into the log."""
        try:
            data = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._log.feed(key.data, data)
        else:
            self._selector.unregister(key.fileobj)

    def _reap(self) -> bool:
        """Takes the main process and every orphan that became ours; tells whether any child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if self._main is not None and pid == self._main.pid:
                self._ended = (status, usage, time.time())
                self._main.returncode = os.waitstatus_to_exitcode(status)

    def _end_leftovers(self) -> None:
        """What the main process left behind holds pipes and devices: it may end by itself, then it is killed."""
        if self._main is None:
            return
        # The number of the main process is free again: on Linux its group is not ours to signal any more.
        group = None if tree.SUBREAPER else self._main.pid
        until = time.monotonic() + LINGER
        while self._alive() and not self._killed and time.monotonic() < until:
            self._drain(0.05)
        until = time.monotonic() + KILLING
        while self._alive() and time.monotonic() < until:
            tree.kill(group, os.getpid())
            self._drain(0.05)
        until = time.monotonic() + LINGER
        while self._pipes() and time.monotonic() < until:
            self._drain(0.05)

    def _alive(self) -> bool:
        """Whether anything is left: children, where orphans become ours; elsewhere whoever holds the pipes."""
        return self._reap() or (not tree.SUBREAPER and self._pipes())

    def _pipes(self) -> bool:
        return len(self._selector.get_map()) > 1  # one is the signals'

    def _drain(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            if key.data != "signal":
                self._copy(key)


def _in_child(supervisor: int) -> None:
    tree.die_with(supervisor)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; programs expect the default
        signal.signal(number, signal.SIG_DFL)
