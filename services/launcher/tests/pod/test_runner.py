"""What the runner does for the processes of its pod, and how it ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.sources.archive import digest
from trainyard.common.sources.packing import pack
from trainyard.launcher.core.cluster import lines
from trainyard.launcher.core.cluster.pods import _ends
from trainyard.launcher.core.job import Job
from trainyard.launcher.ports import Report

pytestmark = pytest.mark.integration
Make = Callable[..., Job]

MEET = """
import json, os, socket, sys
from trainyard.worker import here
place = here()
host, port = place.master
if place.rank == 0:
    with socket.create_server((host, port), backlog=16) as server:
        met = []
        for _ in range(place.world_size - 1):
            peer, _ = server.accept()
            met.append(int(peer.makefile().readline()))
    print("met", sorted(met))
else:
    import time
    for _ in range(200):
        try:
            peer = socket.create_connection((host, port))
            break
        except OSError:
            time.sleep(0.05)
    peer.sendall(f"{place.rank}\\n".encode())
print(json.dumps(dict(os.environ)))
"""


def documents(said: str, rank: int | None) -> list[dict[str, Any]]:
    mark = "" if rank is None else f"[{rank}] "
    return [json.loads(line.removeprefix(mark)) for line in said.splitlines() if line.startswith(mark + "{")]


def test_two_processes_of_one_pod_meet_and_have_the_plans_environment(pods: Any, job: Make) -> None:
    made = job(framework="pytorch", command=["python", "-c", MEET], processes=2, env={"MONEY": "$(HOME) costs $$5"})
    code, said = pods.start(made).end()
    assert code == 0, said
    assert "[0] met [1]" in said
    for rank in (0, 1):
        env = documents(said, rank)[0]
        assert (env["RANK"], env["LOCAL_RANK"], env["WORLD_SIZE"]) == (str(rank), str(rank), "2")
        assert env["MONEY"] == "$(HOME) costs $$5", "text of the user is never a reference"
        assert Path(env["TRAINYARD_OUTPUT"]).is_dir()
        assert Path(env["TRAINYARD_CHECKPOINT"]).is_dir()


def test_two_pods_of_two_processes_meet(pods: Any, job: Make) -> None:
    made = job(framework="pytorch", command=["python", "-c", MEET], replicas=2, processes=2)
    both = [pods.start(made, index=index) for index in (0, 1)]
    (first, said), (second, more) = both[0].end(), both[1].end()
    assert (first, second) == (0, 0), said + more
    assert "[0] met [1, 2, 3]" in said
    assert [documents(more, rank)[0]["LOCAL_RANK"] for rank in (2, 3)] == ["0", "1"]


def test_a_failing_rank_ends_the_others_and_its_code_is_the_pods(pods: Any, shell: Make) -> None:
    made = shell('[ "$RANK" = 1 ] && exit 7; exec sleep 60', processes=3)
    pod = pods.start(made)
    code, said = pod.end(within=20)
    assert code == 7, said
    told = pod.told()
    assert (told[0]["rank"], told[0]["code"]) == (1, 7)
    assert {(item["rank"], item["signal"]) for item in told[1:]} == {(0, 15), (2, 15)}
    read = dict(_ends(pod.termination.read_text()))
    assert read[1].code == 7
    assert (read[1].max_rss or 0) > 100_000
    assert read[1].cpu_seconds is not None


def test_sigterm_reaches_the_ranks_who_may_end_well(pods: Any, shell: Make, tmp_path: Path) -> None:
    pod = pods.start(shell(f"trap 'echo saved; exit 0' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done"))
    pod.wait_for(tmp_path / "up")
    pod.terminate()
    code, said = pod.end(within=20)
    assert code == 0
    assert said.endswith("saved\n")  # sh may have a word about its own child before
    assert pod.told()[0]["code"] == 0


def test_what_ignores_sigterm_is_killed_with_its_tree_after_the_grace_time(
    pods: Any, shell: Make, tmp_path: Path
) -> None:
    line = (
        f"trap '' TERM; setsid sleep 300 & echo $! > {tmp_path}/child; touch {tmp_path}/up; while :; do sleep 0.1; done"
    )
    pod = pods.start(shell(line, timeouts={"grace": 1}))
    pod.wait_for(tmp_path / "up")
    pod.terminate()
    began = time.monotonic()
    code, said = pod.end(within=20)
    assert code == 128 + 9, said
    assert 0.8 < time.monotonic() - began < 10
    assert not alive(int((tmp_path / "child").read_text())), "also what went into a session of its own"
    assert (pod.told()[0]["signal"], pod.told()[0]["oom"]) == (9, False)


def test_what_a_rank_leaves_behind_ends_with_it(pods: Any, shell: Make, tmp_path: Path) -> None:
    code, said = pods.start(shell(f"sleep 300 & echo $! > {tmp_path}/child; exit 0")).end(within=20)
    assert code == 0, said
    assert not alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize(("command", "code"), [(["/no/such/program"], 127), (["/etc/passwd"], 126)])
def test_a_command_that_cannot_be_started_has_a_shells_code(
    pods: Any, job: Make, command: list[str], code: int
) -> None:
    pod = pods.start(job(framework="pytorch", command=command))
    ended, said = pod.end()
    assert ended == code
    assert f"trainyard: '{command[0]}' cannot be started" in said


def test_reports_are_marked_lines_that_the_launcher_reads(pods: Any, job: Make) -> None:
    told = "report(epoch=1, loss=float('nan')); report(epoch=2, epochs=3, loss=0.5); print('x')"
    script = f"from trainyard.worker import report; {told}"
    code, said = pods.start(job(framework="pytorch", command=["python", "-c", script])).end()
    assert code == 0, said
    found = [lines.report(line) for line in said.encode().splitlines()]
    last = Report(**json.loads(next(item for item in reversed(found) if item is not None)))
    assert (last.number, last.rank, last.epoch, last.epochs, last.metrics) == (2, 0, 2, 3, {"loss": 0.5})
    assert "x" in said.splitlines()


def test_more_ends_than_the_kubelet_takes_tell_the_failed_first(pods: Any, shell: Make) -> None:
    pod = pods.start(shell('[ "$RANK" = 77 ] && exit 3; exec sleep 60', processes=80))
    code, _ = pod.end(within=60)
    assert code == 3
    assert pod.termination.stat().st_size <= 4096
    assert pod.told()[0]["rank"] == 77
    assert 20 < len(pod.told()) < 80


def test_hosts_that_never_resolve_are_named_within_bounds(
    pods: Any, shell: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pods, "here", lambda text, here=pods.here: here(text).replace("127.0.0.1", "nobody.invalid"))
    code, said = pods.start(shell("echo never"), TRAINYARD_HOSTS_PATIENCE="0.3").end()
    assert code == 75
    assert said.startswith("trainyard: nobody.invalid cannot be found by name after 0.3 s")
    assert "never" not in said


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"TRAINYARD_PLAN": ""}, "TRAINYARD_PLAN is not set"),
        ({"TRAINYARD_PLAN": "/no/plan"}, "the plan at /no/plan cannot be read"),
        ({"TRAINYARD_PLAN": "/etc/passwd"}, "the plan at /etc/passwd cannot be read"),
        ({"TRAINYARD_ROLE": "chief"}, "the plan has no role 'chief'; it has worker"),
        ({"JOB_COMPLETION_INDEX": "9"}, "the plan has no pod 9 of role 'worker'"),
        ({"JOB_COMPLETION_INDEX": ""}, "neither JOB_COMPLETION_INDEX nor VC_TASK_INDEX says"),
    ],
)
def test_without_its_plan_it_says_so(pods: Any, shell: Make, changes: dict[str, str], sentence: str) -> None:
    code, said = pods.start(shell("true"), **changes).end()
    assert code == 78
    assert sentence in said
    assert said.count("\n") == 1, "one sentence, no traceback"


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_folder_that_was_sent_is_where_the_job_runs(pods: Any, job: Make, tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "pkg").mkdir(parents=True)
    (code / "train.py").write_text("import os, pkg.model; print(pkg.model.NAME, os.getcwd())")
    (code / "pkg" / "model.py").write_text("NAME = 'mine'")
    pods.archive = pack(code)
    made = job(framework="pytorch", command=["python", "train.py"], source=digest(pods.archive))
    ended, said = pods.start(made).end()
    assert (ended, said.strip()) == (0, f"mine {pods.home}/run/source")


def test_a_folder_that_cannot_be_unpacked_is_said(pods: Any, job: Make) -> None:
    pods.archive = b"nonsense"
    ended, said = pods.start(job(framework="pytorch", command=["true"], source=digest(b""))).end()
    assert ended == 78
    assert "the job's folder cannot be unpacked from" in said
