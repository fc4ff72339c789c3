"""`yard report`: the verdict first, each output with its largest difference, and one sentence where there is no report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from trainyard.client.cli import report
from trainyard.common.contract.views import ConversionView
from trainyard.common.errors import InvalidInput


def compared(case: str, output: str, max_abs: float, passed: bool = True) -> dict[str, Any]:
    return {"case": case, "output": output, "max_abs": max_abs, "passed": passed}


DOCUMENT: dict[str, Any] = {
    "name": "net",
    "verdict": "failed",
    "summary": "it cannot become TFLite: the numbers differ",
    "steps": [
        {"name": "dynamo exporter, opset 20", "passed": True, "message": "equal on 2 inputs"},
        {"name": "tflite", "passed": False, "message": "[16, 4] became [4, 16]"},
    ],
    "comparisons": [compared("random, batch 1", "y", 1e-7), compared("random, batch 2", "y", 3e-7)],
    "targets": [{"target": "tflite", "comparisons": [compared("random, batch 1", "y", 0.25, passed=False)]}],
    "lowered": {"precision": "int8", "comparisons": [compared("samples, batch 1", "y", 0.05)]},
    "timings": [{"model": "model.int8.onnx", "batch": 32, "p50_ms": 0.5, "p99_ms": 0.75, "rows_per_second": 64_000.0}],
    "notes": ["no samples were given"],
    "files": [{"path": "model.onnx", "bytes": 1234}],
}


def view(**changes: Any) -> ConversionView:
    base: dict[str, Any] = {
        "conversion_id": "c", "name": "net", "owner": "ann", "state": "failed", "requested_at": "2026-12-01T10:00:00Z",
        "ended_at": "2026-12-01T10:01:00Z", "last_seq": 1,
    }  # fmt: skip
    return ConversionView(**{**base, **changes})


def test_the_verdict_comes_first_and_each_output_has_its_largest_difference() -> None:
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(report.shown(DOCUMENT, Path("/state/conversions/c/report.json")))
    lines = [" ".join(line.split()) for line in captured.get().splitlines() if line.strip()]
    assert lines[0] == "net failed it cannot become TFLite: the numbers differ"
    assert "onnx y 2 of 2 inputs 3.0e-07" in lines
    assert "tflite y 0 of 1 inputs 2.5e-01" in lines
    assert "int8 y 1 of 1 inputs 5.0e-02" in lines
    assert "model.int8.onnx 32 0.5 ms 0.75 ms 64,000" in lines
    assert "tflite no [16, 4] became [4, 16]" in lines  # nothing of it is taken for markup
    assert lines[-2:] == ["model.onnx 1234", "in /state/conversions/c"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ended_at": None, "state": "running"}, "conversion c has no report: it has not ended"),
        ({"message": "given up after 5 attempts", "result": {}}, "it failed before there was one: given up after 5"),
    ],
)
def test_without_a_report_it_says_why(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        report.report_of(view(**changes))


@pytest.mark.parametrize("content", [None, "{", ""])
def test_a_report_that_lies_elsewhere_says_where_to_look(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "report.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InvalidInput, match=r"cannot be read here.*the panel shows it"):
        report.read(file)


def test_a_report_is_read_from_the_path_that_the_event_tells(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(DOCUMENT))
    assert report.read(report.report_of(view(result={"report": str(file)}))) == DOCUMENT
