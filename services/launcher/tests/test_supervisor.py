"""The supervisor of a rank by itself: started as the launcher starts it, asked and killed as the world does."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import trainyard.common
import trainyard.launcher
from trainyard.common.logs.reader import Line, LogStore
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.local import life
from trainyard.launcher.adapters.local.supervisor import record, run

pytestmark = pytest.mark.integration

PATHS = [str(Path(package.__path__[0]).parent.parent) for package in (trainyard.common, trainyard.launcher)]


class Stage:
    """One rank's folder and whoever supervises it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "rank"
        self.folder.mkdir()
        self.logs = root / "logs"
        self.mark = f"1{uuid.uuid4().int % 10**8}"
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str, setup: Callable[[], None] | None = None, **plan: Any) -> subprocess.Popen[bytes]:
        document = {
            "command": list(command),
            "cwd": "/",
            "env": {"PATH": os.environ["PATH"], "MARK": self.mark},
            "grace": 5.0,
            "log": str(self.logs / "j" / "1" / "0"),
            **plan,
        }
        record.write(self.folder, record.PLAN, document)
        return self.supervise(setup)

    def supervise(self, setup: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-I", "-S", run.__file__, str(self.folder), *PATHS]
        process = subprocess.Popen(arguments, env={}, preexec_fn=setup)  # noqa: PLW1509 - a limit of the child's
        self.started.append(process)
        return process

    def wish(self, grace: float = 5.0) -> None:
        record.write(self.folder, record.STOP, {"grace": grace, "why": "cancelled"})

    def end(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        process.wait(20)
        outcome = record.read(self.folder, record.EXIT)
        assert outcome is not None
        return outcome

    async def running(self) -> dict[str, Any]:
        return await eventually(lambda: record.read(self.folder, record.PID) or {})

    def lines(self) -> list[Line]:
        return list(LogStore(self.logs).read("j", 1, 0).lines)

    def marked(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if self.mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.wait()
    for left in made.marked():
        with suppress(psutil.Error):
            left.kill()


async def test_a_full_disk_costs_log_lines_and_nothing_else(stage: Stage) -> None:
    def full_at_64k() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    lines = "i=0; while [ $i -lt 3000 ]; do echo line $i of a job that talks a lot; i=$((i+1)); done"
    outcome = stage.end(stage.start("sh", "-c", lines, setup=full_at_64k))
    assert outcome["exit_code"] == 0
    assert outcome["log_lost"] > 0
    assert stage.lines()[0].text == "line 0 of a job that talks a lot"
    assert all(line.text.startswith("line ") for line in stage.lines())


def test_a_record_is_written_into_room_that_was_kept_for_it(tmp_path: Path) -> None:
    record.reserve(tmp_path, record.EXIT)
    room = next(tmp_path.iterdir()).stat()
    assert record.read(tmp_path, record.EXIT) is None
    record.fill(tmp_path, record.EXIT, {"exit_code": 0})
    written = (tmp_path / record.EXIT).stat()
    assert (written.st_ino, written.st_size) == (room.st_ino, room.st_size)
    assert record.read(tmp_path, record.EXIT) == {"exit_code": 0}


@pytest.mark.parametrize("by_launcher", [True, False])
async def test_sigterm_comes_once_to_everybody(stage: Stage, by_launcher: bool) -> None:
    """Twice means "at once" to many programs. From somebody else it counts as an eviction, whatever the rank answers."""
    inner = "trap 'echo inner' TERM; echo ready; while :; do sleep 0.05; done"
    script = (
        f'trap "echo main; sleep 0.5; exit 0" TERM; setsid sh -c "{inner}" & echo ready; while :; do sleep 0.05; done'
    )
    process = stage.start("sh", "-c", script)
    await eventually(lambda: [line.text for line in stage.lines()].count("ready") == 2)
    if by_launcher:
        stage.wish()
    process.send_signal(signal.SIGTERM)
    outcome = stage.end(process)
    texts = [line.text for line in stage.lines()]
    assert (texts.count("main"), texts.count("inner")) == (1, 1)
    assert outcome["exit_code"] == 0
    assert (outcome["stopped"], outcome.get("reason")) == ((True, None) if by_launcher else (False, "evicted"))


async def test_a_rank_that_was_stopped_before_it_began_never_begins(stage: Stage) -> None:
    stage.wish()
    outcome = stage.end(stage.start("touch", str(stage.folder / "ran")))
    assert (outcome["stopped"], outcome["why"]) == (True, "cancelled")
    assert not (stage.folder / "ran").exists()


async def test_when_its_folder_is_deleted_the_rank_ends(stage: Stage) -> None:
    process = stage.start("sleep", stage.mark)
    await stage.running()
    shutil.rmtree(stage.folder)
    assert process.wait(20) == 0
    assert not stage.marked()


async def test_a_second_supervisor_leaves_quietly(stage: Stage) -> None:
    first = stage.start("sh", "-c", "echo once; sleep 1")
    await stage.running()
    assert life.held(stage.folder)
    assert stage.supervise().wait(20) == 0
    assert stage.end(first)["exit_code"] == 0
    assert stage.supervise().wait(20) == 0  # and one that comes when all is over
    assert [line.text for line in stage.lines()] == ["once"]


async def test_a_killed_supervisor_takes_its_rank_along(stage: Stage) -> None:
    process = stage.start("sleep", stage.mark)
    await stage.running()
    process.kill()
    await eventually(lambda: not stage.marked())
    assert not life.held(stage.folder)


async def test_the_end_is_the_main_process_and_not_what_it_leaves_behind(stage: Stage) -> None:
    outcome = stage.end(stage.start("sh", "-c", f"trap '' TERM; setsid sleep {stage.mark} & exit 3"))
    assert outcome["exit_code"] == 3
    assert outcome["ended"] - outcome["started"] < 0.9  # the second of patience is not counted
    assert not stage.marked()


async def test_a_tree_that_grows_while_it_is_killed_is_killed(stage: Stage) -> None:
    inner = f"trap '' TERM; exec sleep {stage.mark}"
    process = stage.start("sh", "-c", f"trap '' TERM; while :; do setsid sh -c \"{inner}\" & sleep 0.02; done")
    await eventually(lambda: len(stage.marked()) > 5)
    stage.wish(grace=0.2)
    outcome = stage.end(process)
    assert (outcome["signal"], outcome["killed"]) == (signal.SIGKILL, True)
    assert not stage.marked()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program"], "no-such-program cannot be started: there is no such program on the job's PATH"),
        (["./lost"], "./lost cannot be started: the interpreter that its first line names is not there"),
        (["./junk"], "./junk cannot be started: Exec format error"),
        (["./plain"], "./plain cannot be started: Permission denied"),
        (["true", "x" * 200_000], "true cannot be started: Argument list too long"),
    ],
)
async def test_what_cannot_be_started_says_why(stage: Stage, tmp_path: Path, command: list[str], says: str) -> None:
    for name, content in {"lost": b"#!/no/such/python\n", "junk": b"\x00\x01junk", "plain": b""}.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o644 if name == "plain" else 0o755)
    outcome = stage.end(stage.start(*command, cwd=str(tmp_path)))
    assert (outcome["reason"], outcome["message"]) == ("start", says)
    assert stage.lines()[0].text == says


async def test_much_output_and_little_memory(stage: Stage) -> None:
    process = stage.start("sh", "-c", "head -c 40000000 /dev/zero | tr '\\0' x; echo; echo end; sleep 0.3")
    await eventually(lambda: LogStore(stage.logs).last_lines("j", 1, 0, 1) == ("end",))
    assert psutil.Process(process.pid).memory_info().rss < 24 * 2**20
    assert stage.end(process)["log_lost"] == 0
    assert sum(file.stat().st_size for file in (stage.logs / "j" / "1" / "0").iterdir()) > 40_000_000


async def test_it_is_small_and_in_a_session_of_its_own(stage: Stage) -> None:
    process = stage.start("sleep", stage.mark)
    who = await stage.running()
    assert psutil.Process(process.pid).memory_info().rss < 15 * 2**20
    assert os.getsid(process.pid) == process.pid
    assert os.getsid(who["pid"]) == who["pid"]
    assert json.loads((stage.folder / record.PID).read_text())["supervisor"] == process.pid
