"""What nobody planned: deleted folders and images, supervisors that never come up, a launcher that stumbles over one job."""

from __future__ import annotations

import asyncio
import errno
import json
import random
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.lifecycle.states import EndReason
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.local import backend
from trainyard.launcher.adapters.local.backend import LocalBackend
from trainyard.launcher.adapters.local.folders import LocalFolders
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import RankSeen

pytestmark = pytest.mark.integration


def mark() -> str:
    return f"1{uuid.uuid4().int % 10**8}"


async def test_a_job_whose_folder_was_deleted_is_lost_and_ended(world: Any) -> None:
    seconds = mark()
    job = await world.submit(f"sleep {seconds}", retries={"infrastructure": 0}, timeouts={"grace": 1})
    await world.until(job, "running")
    await eventually(lambda: world.processes(f"sleep {seconds}"))
    shutil.rmtree(world.state / "jobs" / job)
    event = await world.until(job, "lost")
    assert "nobody recorded how it ended" in event.message
    await eventually(lambda: not world.processes(f"sleep {seconds}"))


async def test_an_image_that_is_gone_fails_its_job_and_no_other(world: Any) -> None:
    job = await world.submit("true", image="gone")
    event = await world.until(job, "failed")
    assert event.reason is EndReason.IMAGE
    assert "there is no image 'gone'" in event.message
    await world.until(await world.submit("true"), "succeeded")


async def test_an_image_that_goes_while_its_job_runs_does_not_keep_the_launcher_down(world: Any) -> None:
    job = await world.submit("sleep 1; exit 1", retries={"user": 1})
    await world.until(job, "running")
    await world.kill()
    # As if the matrix had chosen another image, which somebody has deleted since.
    row = world.projected(job)
    world.project(job, row.replace('"image": "host"', '"image": "gone"'))
    await world.start()
    event = await world.until(job, "failed")
    assert (event.reason, event.attempt) == (EndReason.IMAGE, 2)
    await world.until(await world.submit("true"), "succeeded")


async def test_a_supervisor_that_never_comes_up_is_given_up(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "BIRTH", 0.2)
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    job = await world.submit("true", retries={"user": 3, "infrastructure": 3}, processes=2)
    event = await world.until(job, "failed")
    assert event.reason is EndReason.START
    assert "its supervisor did not come up in 3 tries" in event.message


async def test_a_supervisor_that_cannot_keep_records_says_so(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "BIRTH", 0.5)
    made = LocalFolders.make

    def spoilt(folders: LocalFolders, job: Job, archive: bytes | None = None) -> Any:
        found = made(folders, job)
        (folders.rank(job, 0) / ".exit.json.room").mkdir(exist_ok=True)
        return found

    monkeypatch.setattr(LocalFolders, "make", spoilt)
    event = await world.until(await world.submit("true"), "failed")
    assert "IsADirectoryError" in event.message


async def test_ranks_that_were_started_end_when_the_others_cannot_be(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills in the middle of a start."""
    seconds = mark()
    made, spawned = LocalFolders.make, LocalBackend._spawn
    calls = 0

    def filling(folders: LocalFolders, job: Job, archive: bytes | None = None) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return made(folders, job)

    def only_the_first(local: LocalBackend, folder: Path) -> None:
        if folder.name == "0":
            spawned(local, folder)

    monkeypatch.setattr(LocalFolders, "make", filling)
    monkeypatch.setattr(LocalBackend, "_spawn", only_the_first)
    job = await world.submit(f"echo >> $TRAINYARD_OUTPUT/ran; sleep {seconds}", processes=2, timeouts={"grace": 1})
    event = await world.until(job, "failed")
    assert event.message == "the job's folder cannot be written: No space left on device"
    assert not world.processes(f"sleep {seconds}")
    how = json.loads((world.rank(job) / "exit.json").read_text())
    assert how["why"] == "the others cannot be started"


async def test_how_a_job_ends_does_not_hang_on_its_logs(world: Any) -> None:
    job = await world.submit("sleep 0.3; echo said; exit 4")
    await world.until(job, "running")
    shutil.rmtree(world.state / "logs")
    event = await world.until(job, "failed")
    assert (event.message, event.log_tail) == ("rank 0 exited with code 4", ())


class Stumbling(LocalBackend):
    """Fails for one job as no backend should."""

    times = 1

    def look(self, job: Job) -> Sequence[RankSeen]:
        if job.spec.name == "odd" and self.times:
            self.times -= 1
            raise ValueError("nobody thought of this")
        return super().look(job)


async def test_a_fault_of_one_job_stays_with_it(world: Any) -> None:
    world.reconciler._backends = {"default": Stumbling(world.state, "node")}
    odd = await world.submit("true", name="odd")
    other = await world.submit("true")
    await world.until(other, "succeeded")
    await world.until(odd, "succeeded")
    assert await world.kinds(odd) == ["submitted", "resolved", "starting", "running", "succeeded"]


async def test_the_worst_of_log_lines_fit_into_the_event(world: Any) -> None:
    """Control characters become six bytes each in JSON; a message takes a mebibyte."""
    job = await world.submit("for i in 1 2 3 4 5 6 7 8 9; do head -c 60000 /dev/zero; echo; done; exit 1")
    event = await world.until(job, "failed")
    assert len(event.dump()) < 100_000
    assert len(event.log_tail) > 0


async def test_a_restart_of_the_launcher_is_no_idleness_of_the_job(world: Any) -> None:
    report = '{"time": 1, "step": 1}'
    loop = f"for i in 1 2 3 4 5 6; do echo '{report}' >> $TRAINYARD_REPORT; sleep 0.6; done; sleep 0.8"
    job = await world.submit(loop, timeouts={"idle": 3})
    await world.until(job, "running", "progress")
    await asyncio.sleep(3.4)  # longer than the idle time, though it has reported all the while
    await world.kill()
    await world.start()
    await world.until(job, "succeeded")


async def test_a_report_file_full_of_junk_is_passed_over(world: Any) -> None:
    junk = "head -c 3000000 /dev/zero >> $TRAINYARD_REPORT; echo >> $TRAINYARD_REPORT"
    job = await world.submit(f"{junk}; echo '{json.dumps({'time': 1, 'epoch': 7})}' >> $TRAINYARD_REPORT")
    await world.until(job, "succeeded")
    told = [item.event async for item in world.bus.history("job", job) if item.event.kind == "progress"]
    assert [event.epoch for event in told] == [7]


async def test_a_cancel_at_any_moment_leaves_nothing_running(world: Any) -> None:
    seconds = mark()
    chance = random.Random(5)
    for number in range(16):
        job = await world.submit(f"sleep {seconds}", timeouts={"grace": 1}, processes=2)
        await asyncio.sleep(chance.choice([0, 0.001, 0.005, 0.02, 0.05, 0.1]))
        if number % 4 == 3:
            await world.kill()
            await world.cancel(job)
            await world.start()
        else:
            await world.cancel(job)
        await world.until(job, "cancelled")
        assert not world.processes(f"sleep {seconds}")
    await asyncio.sleep(0.3)  # what was being started then would be there by now
    assert not world.processes(f"sleep {seconds}")
