"""The in-job library without a framework: place, reports, folders; and that it needs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import trainyard.worker
from trainyard.worker import here, output_dir, report


class Scalar:
    """What a tensor of one element looks like."""

    def item(self) -> float:
        return 0.25


def test_reports_are_lines_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.jsonl"
    monkeypatch.setenv("TRAINYARD_REPORT", str(file))
    report(epoch=1, epochs=3, loss=Scalar(), accuracy=0.5, broken=float("nan"))
    report(step=7)
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert first["metrics"] == {"loss": 0.25, "accuracy": 0.5, "broken": None}
    assert (first["epoch"], first["epochs"], "step" in first) == (1, 3, False)
    assert (second["step"], second["metrics"]) == (7, {})


def test_a_metric_that_is_no_number_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_REPORT", str(tmp_path / "r"))
    with pytest.raises(TypeError, match="note must be a number, not str"):
        report(note="hello")


def test_outside_a_job_everything_is_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TRAINYARD_REPORT", "TRAINYARD_JOB_ID", "TRAINYARD_RANK", "RANK", "WORLD_SIZE", "TRAINYARD_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    report(step=1)
    assert (here().job_id, here().rank, here().world_size) == (None, 0, 1)
    assert output_dir() == Path("output")
    assert [item.name for item in tmp_path.iterdir()] == ["output"]


def test_it_needs_the_standard_library_alone() -> None:
    folder = Path(next(iter(trainyard.worker.__path__))).parent.parent
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); import trainyard.worker; print(len(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
