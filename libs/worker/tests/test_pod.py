"""Parts of the runner that need no process: reports that user code wrote, ends that have to fit, kills for memory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trainyard.worker.pod import ends
from trainyard.worker.pod.ends import End, message
from trainyard.worker.pod.telling import MAX_READ, REPORT, Reports


def newest(reports: Reports) -> Any:
    line = reports.newest()
    if line is None:
        return None
    assert line.startswith(REPORT)
    return json.loads(line[len(REPORT) :])


def test_lines_that_are_no_reports_are_counted_and_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "report"
    reports = Reports(str(file), 3)
    assert newest(reports) is None, "no file yet"
    file.write_text('junk\n{"epoch": 1, "metrics": {"loss": 0.5, "name": "x", "ok": true}}\n[1]\n{"epoch": 2')
    first = newest(reports)
    assert (first["number"], first["rank"], first["epoch"], first["steps"]) == (2, 3, 1, None)
    assert first["metrics"] == {"loss": 0.5, "name": None, "ok": None}
    assert newest(reports) is None, "half a line is nothing yet"
    with file.open("a") as more:
        more.write(', "epochs": 9, "step": 1e999, "metrics": {"loss": NaN}}\n')
    second = newest(reports)
    assert (second["number"], second["epoch"], second["epochs"], second["step"]) == (4, 2, 9, None)
    assert second["metrics"] == {"loss": None}


def test_of_several_new_reports_the_last_is_told(tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text("".join(f'{{"step": {step}}}\n' for step in range(50)))
    found = newest(Reports(str(file), 0))
    assert (found["number"], found["step"]) == (50, 49)


def test_a_line_without_end_does_not_hold_what_comes_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_bytes(b"x" * (2 * MAX_READ) + b'\n{"epoch": 7}\n')
    reports = Reports(str(file), 0)
    assert [newest(reports), newest(reports)] == [None, None]
    assert newest(reports)["epoch"] == 7


def test_a_pipe_in_place_of_the_file_holds_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report")
    assert newest(Reports(str(tmp_path / "report"), 0)) is None


def test_ends_that_do_not_fit_leave_out_those_that_were_well() -> None:
    well = [End(rank, 0, None, False, 2**33, 1234.56) for rank in range(100)]
    failed = [End(rank, 1, None, False, 2**33, 1234.56) for rank in range(100, 110)]
    text = message([*well, *failed], failed[4])
    told = [item["rank"] for item in json.loads(text)["ranks"]]
    assert len(text) <= ends.MAX_BYTES
    assert told[:10] == [104, 100, 101, 102, 103, 105, 106, 107, 108, 109]
    assert told[10:] == list(range(len(told) - 10))


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\noom_group_kill 0\n", 2),  # cgroup v2, memory.events
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 1),  # cgroup v1, memory.oom_control
        ("something else\n", 0),
    ],
)
def test_kills_for_memory_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kills: int) -> None:
    (tmp_path / "events").write_text(text)
    known = (("/no/such/file", "oom_kill"), (str(tmp_path / "events"), "oom_kill"))
    monkeypatch.setattr(ends, "_EVENTS", known)
    assert ends.oom_kills() == kills
