"""Progress reports and the place in the job, without any framework."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.worker import here, output_dir, report


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "report.jsonl"
    monkeypatch.setenv("TRAINYARD_REPORT", str(file))
    return file


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_report_is_a_line(told: Path) -> None:
    report(epoch=1, epochs=3, loss=0.5)
    report(step=np.int64(7), steps=9, accuracy=np.float32(0.25))
    first, second = lines(told)
    assert first.pop("time") <= second.pop("time")
    assert first == {"epoch": 1, "epochs": 3, "metrics": {"loss": 0.5}}
    assert second == {"step": 7, "steps": 9, "metrics": {"accuracy": 0.25}}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_what_is_not_finite_is_missing(told: Path, value: Any) -> None:
    report(loss=value)
    assert lines(told)[0]["metrics"] == {"loss": None}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0.5", "loss must be a number, not str"),
        (True, "loss must be a number, not bool"),
        (None, "loss must be a number, not NoneType"),
        (np.zeros(3), r"loss must be one number, not \(3,\)"),
    ],
)
def test_what_is_no_number_is_the_callers_mistake(told: Path, value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        report(loss=value)
    assert not told.exists()


def test_a_report_that_cannot_be_written_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRAINYARD_REPORT", str(tmp_path / "missing" / "report.jsonl"))
    report(epoch=1)
    assert "trainyard: progress cannot be reported" in capsys.readouterr().out


def test_lines_of_many_threads_stay_whole(told: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda step: report(step=step, **{f"metric_{i}": i for i in range(200)}), range(300)))
    assert sorted(line["step"] for line in lines(told)) == list(range(300))


def test_the_place_comes_from_the_launcher_or_from_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    alone = here()
    assert (alone.rank, alone.world_size, alone.job_id, alone.attempt) == (0, 1, None, 1)
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (here().rank, here().world_size) == (3, 4)
    monkeypatch.setenv("TRAINYARD_RANK", "2")
    monkeypatch.setenv("TRAINYARD_ATTEMPT", "5")
    assert (here().rank, here().attempt) == (2, 5)


def test_the_output_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_OUTPUT", str(tmp_path / "a" / "b"))
    assert output_dir() == tmp_path / "a" / "b"
    assert output_dir().is_dir()
