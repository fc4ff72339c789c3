"""One rank from exec to exit record: pipes into the log, signals, grace, reaping, leftovers."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from trainyard.common.logs.writer import LogWriter
from trainyard.launcher.adapters.local.supervisor import record, tree

LINGER = (
    1.0  # seconds that what the main process left behind has, before it is killed, and that the pipes have to empty
)
LOOK = 0.5  # seconds between two looks for a stop wish whose signal was lost
_CHUNK = 256 * 1024


class Rank:
    """`run` gives the exit record."""

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self._folder = folder
        self._plan = plan
        self._log = LogWriter(Path(plan["log"]))
        self._selector = selectors.DefaultSelector()
        self._main: subprocess.Popen[bytes] | None = None
        self._ended: tuple[int, Any] | None = None  # wait status and resource usage of the main process
        self._kill_at: float | None = None
        self._killed = False
        self._stop: dict[str, Any] | None = None

    def run(self) -> dict[str, Any]:
        started = time.time()
        oom_before = _oom_kills()
        wake = self._signals()
        try:
            self._spawn()
        except OSError as error:
            self._log.feed("stderr", f"{_cannot_start(self._plan, error)}\n".encode())
            self._log.close()
            return {
                "reason": "start",
                "message": _cannot_start(self._plan, error),
                "started": started,
                "ended": time.time(),
            }
        while self._ended is None:
            self._turn(wake)
        self._end_leftovers()
        self._log.close()
        status, usage = self._ended
        return {
            **_outcome(status),
            "started": started,
            "ended": time.time(),
            "stopped": self._stop is not None,
            "why": (self._stop or {}).get("why"),
            "killed": self._killed,
            "oom": os.WIFSIGNALED(status) and not self._killed and _oom_kills() > oom_before,
            "max_rss": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "log_lost": self._log.lost,
        }

    def _signals(self) -> int:
        """A pipe that a signal makes readable, so that waiting has one place."""
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._selector.register(reader, selectors.EVENT_READ, "signal")
        return reader

    def _spawn(self) -> None:
        process = subprocess.Popen(
            self._plan["command"],
            cwd=self._plan["cwd"],
            env=self._plan["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_in_child,  # noqa: PLW1509 - this process has a single thread
        )
        self._main = process
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, name)
        record.write(
            self._folder,
            record.PID,
            {
                "supervisor": os.getpid(),
                "pid": process.pid,
                "mark": record.process_start(process.pid),
                "started": time.time(),
            },
        )

    def _turn(self, wake: int) -> None:
        for key, _ in self._selector.select(LOOK):
            if key.data == "signal":
                with suppress(BlockingIOError):
                    os.read(wake, 4096)
            else:
                self._copy(key)
        self._look_for_stop()
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._killed, self._kill_at = True, None
            self._send(signal.SIGKILL)
        self._reap()

    def _copy(self, key: selectors.SelectorKey) -> bool:
        """One chunk of a pipe into the log; False at its end."""
        try:
            data = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return True
        if not data:
            self._selector.unregister(key.fileobj)
            return False
        self._log.feed(key.data, data)
        return True

    def _look_for_stop(self) -> None:
        if self._stop is None and (wish := record.read(self._folder, record.STOP)) is not None:
            self._stop = wish
            self._kill_at = time.monotonic() + float(wish.get("grace", 0))
            self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        assert self._main is not None  # noqa: S101 - signals come after the start
        tree.send(number, self._main.pid, os.getpid())

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
                self._ended = (status, usage)
                self._main.returncode = os.waitstatus_to_exitcode(status)

    def _end_leftovers(self) -> None:
        """A rank is over when its main process is: what it left behind holds pipes and devices, and is ended."""
        deadline = time.monotonic() + LINGER
        while self._reap() and time.monotonic() < deadline and not self._killed:
            self._drain(0.05)
        if self._reap():
            self._send(signal.SIGKILL)
        deadline = time.monotonic() + LINGER
        while len(self._selector.get_map()) > 1 and time.monotonic() < deadline:
            self._drain(0.05)
        self._reap()

    def _drain(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            if key.data != "signal":
                self._copy(key)


def _in_child() -> None:
    tree.die_with_parent()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; programs expect the default
        signal.signal(number, signal.SIG_DFL)


def _outcome(status: int) -> dict[str, Any]:
    if os.WIFSIGNALED(status):
        return {"signal": os.WTERMSIG(status)}
    return {"exit_code": os.WEXITSTATUS(status)}


def _cannot_start(plan: dict[str, Any], error: OSError) -> str:
    if not Path(plan["cwd"]).is_dir():
        return f"the working folder {plan['cwd']} is not there"
    return f"{plan['command'][0]} cannot be started: {error.strerror or error}"


def _oom_kills() -> int:
    """How many processes of our cgroup the kernel has killed for memory so far; 0 where that is not told (cgroup v1)."""
    try:
        group = Path("/proc/self/cgroup").read_text().strip().split("::")[-1].strip("/")
        events = (Path("/sys/fs/cgroup") / group / "memory.events").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in events.splitlines() if line.startswith("oom_kill ")), 0)
