"""A job's folder sent from elsewhere: the yard does not look at this machine's folders, and the job runs all the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from trainyard.client import files
from trainyard.client.sdk import AsyncYard, Yard
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e
JOB = "name: sent\nframework: generic\nimage: host\ncommand: python train.py\nretries: {user: 1}\n"
TRAIN = """
import os, pathlib
first = pathlib.Path(os.environ["TRAINYARD_CHECKPOINT"], "seen")
if not first.exists():
    first.touch()
    raise SystemExit("once more")
print("answer", pathlib.Path("data/answer").read_text())
"""


@pytest.fixture(scope="module")
def far(make_yard: Callable[..., YardProcess]) -> YardProcess:
    return make_yard(TRAINYARD_CHECK_WORKDIR="off")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code" / "data").mkdir(parents=True)
    (tmp_path / "code" / "data" / "answer").write_text("42")
    (tmp_path / "code" / "train.py").write_text(TRAIN)
    (tmp_path / "code" / "job.yaml").write_text(JOB)
    return tmp_path / "code"


def test_every_attempt_runs_what_was_sent(far: YardProcess, code: Path) -> None:
    with Yard(far.url) as yard:
        job = yard.submit(files.read(code))
        shutil.rmtree(code)
        ended = yard.wait(job.job_id, timeout=60)
        assert (ended.state, ended.attempt) == (State.SUCCEEDED, 2), ended.message
        assert [line["text"] for line in yard.follow_logs(job.job_id)][-1] == "answer 42"
        again = yard.wait(yard.retry(job.job_id).job_id, timeout=60)
        assert again.state is State.SUCCEEDED


async def test_the_same_from_asyncio_and_what_is_too_large_is_said_before_it_is_sent(
    far: YardProcess, code: Path
) -> None:
    async with AsyncYard(far.url) as yard:
        job = await yard.submit(files.read(code))
        assert job.spec["source"].startswith("sha256:")
        (code / "weights.bin").write_bytes(bytes(65 * 2**20))
        with pytest.raises(InvalidInput, match=r"weights\.bin \(65\.0 MiB\)"):
            await yard.submit(files.read(code))
