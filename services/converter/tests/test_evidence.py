"""What a report becomes on the page of conversions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from trainyard.converter.core.report import ConversionReport, ServedReport, StepReport, TargetReport
from trainyard.converter.testing.evidence import Subject, append, of_report, read

KERAS = Subject("two.keras", "keras")


def report(**changes: object) -> ConversionReport:
    told: dict[str, object] = {
        "conversion_id": "c",
        "name": "two",
        "verdict": "proven",
        "summary": "equal",
        "started_at": "",
        "seconds": 10.0,
        "framework": "keras 3",
        "sandbox": "",
        "exporter": "tf2onnx",
        "opset": 18,
        "inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 3]}],
        "max_abs_error": 1e-6,
        "comparisons": [{"passed": True}],
        "tools": {"onnx": "1", "onnxruntime": "2"},
        **changes,
    }
    return ConversionReport.model_validate(told)


def step(name: str, passed: bool, message: str = "") -> StepReport:
    return StepReport(name=name, passed=passed, message=message, seconds=2.0)


def test_what_was_proven_and_served_is_two_lines() -> None:
    served = ServedReport(endpoint="", server="ours 1", sample=0, max_abs_error=2e-6, passed=True)
    onnx, triton = of_report(KERAS, report(served=served))
    assert (onnx.target, onnx.verdict, onnx.max_abs_error, onnx.inputs) == ("onnx", "equal", 1e-6, ("x:float32:-1,3",))
    assert (triton.target, triton.verdict, triton.max_abs_error) == ("triton", "equal", 2e-6)
    assert triton.versions == ("ours 1",)


@pytest.mark.parametrize("comparisons", [[], [{"passed": True}, {"passed": False}]])
def test_other_numbers_or_none_are_a_refusal(comparisons: list[object]) -> None:
    (onnx,) = of_report(KERAS, report(verdict="failed", summary="the numbers differ", comparisons=comparisons))
    assert (onnx.verdict, onnx.cause, onnx.max_abs_error) == ("refused", "the numbers differ", None)


def test_each_target_has_a_verdict_of_its_own() -> None:
    steps = [step("tf2onnx, opset 18", True), step("torch", False, "no function for Strange"), step("tflite", True)]
    written = TargetReport(target="tflite", framework="tflite 2", passed=True, max_abs_error=3e-6)
    onnx, torch, tflite = of_report(KERAS, report(verdict="failed", steps=steps, targets=[written]))
    assert (onnx.verdict, onnx.seconds) == ("equal", 6.0)
    assert (torch.target, torch.verdict, torch.cause) == ("torch", "refused", "no function for Strange")
    assert (tflite.target, tflite.verdict, tflite.max_abs_error) == ("tflite", "equal", 3e-6)


def test_what_cannot_be_served_is_a_refusal_of_triton_alone() -> None:
    onnx, triton = of_report(KERAS, report(verdict="failed", summary="rate: dims may not be empty"))
    assert (onnx.verdict, triton.verdict, triton.cause) == ("equal", "refused", "rate: dims may not be empty")


def test_an_excuse_is_told_with_the_model_that_needed_it() -> None:
    notes = ["no samples were given", "y: on large, batch 2 the model's own answer hangs on rounding, so differences"]
    steps = [step("tflite", True)]
    onnx, tflite = of_report(KERAS, report(notes=notes, steps=steps))
    assert (onnx.excused, tflite.excused) == ((notes[1],), ())


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "evidence.jsonl"
    lines = of_report(KERAS, report())
    append(file, lines)
    append(file, lines)
    assert read(file) == [*lines, *lines]
    file.write_text('{"model": "x"}\n')
    with pytest.raises(ValidationError):
        read(file)
