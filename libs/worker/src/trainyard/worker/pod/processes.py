"""The processes of a replica: started in sessions of their own, ended together, reaped with all that they left behind."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trainyard.worker.pod import ends
from trainyard.worker.pod.ends import End
from trainyard.worker.pod.replica import Rank
from trainyard.worker.pod.telling import Voice, relay

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
_LAST_WORDS = 2.0  # seconds for lines that are still on their way when a process has ended


class Processes:
    def __init__(self, grace: float, voice: Voice) -> None:
        self._grace, self._voice = grace, voice
        self._running: dict[int, tuple[Rank, subprocess.Popen[bytes], threading.Thread]] = {}
        self._kills = ends.oom_kills()
        self._deadline: float | None = None
        """When what still runs is killed (monotonic)."""
        self._killed = False
        self.ended: list[End] = []
        self.first: End | None = None
        """The first that failed."""
        adopt_orphans()

    def start(self, rank: Rank, env: Mapping[str, str], mark: bytes) -> None:
        """A command that cannot be started has ended, with a shell's code for it."""
        program = _program(rank.command[0], env)
        try:
            process = subprocess.Popen(
                rank.command, executable=program, cwd=rank.cwd, env=dict(env), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._voice.say(f"{rank.command[0]!r} cannot be started: {error.strerror}", mark)
            self._note(End(rank.rank, 127 if isinstance(error, FileNotFoundError) else 126, None))
            return
        reader = threading.Thread(target=relay, args=(process.stdout, mark, self._voice), daemon=True)
        reader.start()
        self._running[process.pid] = (rank, process, reader)

    def look(self) -> bool:
        """Take note of what has ended; kill what is overdue. Whether anything still runs."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid in self._running:
                self._over(pid, status, usage)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.kill()
        return bool(self._running)

    def terminate(self) -> None:
        """SIGTERM now, SIGKILL after the grace time."""
        if self._deadline is None:
            self._deadline = time.monotonic() + self._grace
            for pid in self._running:
                _signal_group(pid, signal.SIGTERM)

    def kill(self) -> None:
        """All that descends from here, whatever session it has gone to."""
        self._killed = True
        for pid in descendants(os.getpid()):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _over(self, pid: int, status: int, usage: object) -> None:
        rank, process, reader = self._running.pop(pid)
        process.returncode = status  # reaped here, not by subprocess
        _signal_group(pid, signal.SIGKILL)  # data loaders and the like that it left
        reader.join(_LAST_WORDS)
        kills = ends.oom_kills()
        unasked = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and not self._killed
        oom, self._kills = unasked and kills > self._kills, kills
        self._note(ends.of(rank.rank, status, usage, oom))

    def _note(self, end: End) -> None:
        self.ended.append(end)
        if end.exit_code and self.first is None:
            self.first = end
            self.terminate()


def adopt_orphans() -> None:
    """Grandchildren whose parent has ended become ours, so that none outlives the pod's own process unseen."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    found, open_ = [], [root]
    while open_:
        below = children.get(open_.pop(), [])
        found += below
        open_ += below
    return found


def _program(name: str, env: Mapping[str, str]) -> str:
    """`python` is the image's; where an image calls it python3 only, it is the one that runs this."""
    found = shutil.which(name, path=env.get("PATH"))
    return found or (sys.executable if name in {"python", "python3"} else name)


def _signal_group(pid: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(pid, number)
