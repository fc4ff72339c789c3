"""A conversion from request to proof, with an exporter that can fail in every way; everything else is real."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import Retryable, TrainyardError
from trainyard.converter.conversion import ConversionFault, Proven, Tools, convert

Make = Callable[..., ConversionRequested]


async def run(request: ConversionRequested, tools: Tools, told: list[tuple[str, float]] | None = None) -> Proven:
    async def tell(step: str, message: str, fraction: float) -> None:
        assert message
        if told is not None:
            told.append((step, fraction))

    return await convert(request, tools, tell)


async def fails(request: ConversionRequested, tools: Tools) -> tuple[ConversionFault, dict[str, Any]]:
    with pytest.raises(ConversionFault) as caught:
        await run(request, tools)
    fault = caught.value
    assert fault.report is not None
    report: dict[str, Any] = json.loads((fault.report / "report.json").read_text())
    assert report["verdict"] == "failed"
    assert report["summary"] == str(fault)
    assert str(fault)[:20] in (fault.report / "report.html").read_text().replace("&#39;", "'")
    assert not (fault.report / "model.onnx").exists() or fault.reason in {"serving", "model"}
    return fault, report


async def test_a_proven_model_and_what_lies_in_its_folder(request_affine: Make, tools: Tools) -> None:
    told: list[tuple[str, float]] = []
    request = request_affine()
    proven = await run(request, tools, told)
    report = proven.report
    assert report.verdict == "proven"
    assert report.summary == "equal on 9 inputs at batch sizes 1, 2, 5"
    assert len(report.comparisons) == 9 * 2
    assert report.max_abs_error == 0.0
    assert report.opset == 17
    assert report.operators == {"Mul": 1, "Add": 1, "Cast": 1}
    assert proven.config is not None
    assert proven.config.max_batch_size == 5
    assert [step for step, _ in told] == ["prepare", "export", "verify", "triton", "serve", "report"]
    assert [fraction for _, fraction in told] == sorted(fraction for _, fraction in told)
    assert proven.folder == tools.state / "conversions" / request.conversion_id
    assert [file.path for file in report.files] == [
        "model.onnx", "proof.npz",
        *(f"scripts/{name}" for name in (
            "answers.npz", "bounds.json", "cases.npz", "requirements.txt", "rerun.py", "steps.json", "workers.zip"
        )),
        "triton/affine/1/model.onnx", "triton/affine/config.pbtxt", "triton/affine/labels.txt",
    ]  # fmt: skip
    assert list((tools.state / "conversions").iterdir()) == [proven.folder]  # no scratch is left


async def test_the_served_sample_has_its_label(request_affine: Make, tools: Tools) -> None:
    served = (await run(request_affine(), tools)).report.served
    assert served is not None
    assert (served.label, served.predicted, served.reference) == ("low", "high", "high")
    assert served.passed


async def test_the_page_escapes_what_a_person_wrote(request_affine: Make, tools: Tools) -> None:
    proven = await run(request_affine(labels=["<script>alert(1)</script>", "b", "c"]), tools)
    page = (proven.folder / "report.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "proven" in page


async def test_the_next_rung_is_tried_and_both_are_told(request_affine: Make, tools: Tools, exporter: Any) -> None:
    exporter.acts = ["export", "wrong", "right"]
    proven = await run(request_affine(), tools)
    steps = proven.report.steps
    assert [(step.name, step.passed) for step in steps] == [
        ("dynamo exporter, opset 20", False),
        ("dynamo exporter, opset 18", False),
        ("torchscript exporter, opset 17", True),
        ("serve", True),
    ]
    assert "operator aten.strange is not known to dynamo" in steps[0].message
    assert "elements differ by more than allowed" in steps[1].message
    assert proven.report.exporter == "torchscript"
    assert not any(not item["passed"] for item in proven.report.comparisons)


@pytest.mark.parametrize(
    ("act", "reason", "words"),
    [
        ("export", "export", "the model cannot be exported: operator aten.strange is not known to dynamo; operator"),
        ("wrong", "numbers", "the numbers differ: random, batch 1, output y: 3 of 3 elements differ"),
        ("fixed", "export", "the model cannot be exported: the batch of x became a constant"),
        ("model", "model", "the weights do not fit the model"),
    ],
)
async def test_what_ends_a_conversion(
    request_affine: Make, tools: Tools, exporter: Any, act: str, reason: str, words: str
) -> None:
    exporter.acts = [act]
    fault, report = await fails(request_affine(), tools)
    assert fault.reason == reason
    assert str(fault).startswith(words)
    assert report["served"] is None
    assert not (fault.report / "triton").exists()  # type: ignore[operator]
    assert len(exporter.rungs) == (1 if act == "model" else 4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"samples": "none.npz"}, "there are no samples at"),
        ({"samples": "text.npz"}, "cannot be read as .npz"),
        ({"samples": "lone.npy"}, "holds one array without a name, .npz is needed"),
        ({"samples": "half.npz"}, "cannot be read as .npz"),
        ({"samples": "pickle.npz"}, "cannot be read as .npz"),
        ({"inputs": [{"name": "x", "shape": ["batch", 4]}]}, "have shape [5, 3], declared is ['batch', 4]"),
        ({"inputs": [{"name": "x", "shape": ["batch", 3]}] * 2}, "convert.inputs: 'x' is there twice"),
        ({"opset": 29}, "convert.opset: the runtime takes opset 28 at most"),
        ({"labels": ["a", "b"]}, "convert.labels: there are 2 labels, but 3 classes in output 'y'"),
    ],
)
async def test_what_the_user_has_to_mend(
    tmp_path: Path, request_affine: Make, tools: Tools, changes: dict[str, Any], words: str
) -> None:
    request = request_affine(**changes)
    (tmp_path / "output" / "text.npz").write_text("no archive")
    (tmp_path / "output" / "half.npz").write_bytes((tmp_path / "output" / "samples.npz").read_bytes()[:300])
    np.save(tmp_path / "output" / "lone.npy", np.zeros(3))
    np.savez(tmp_path / "output" / "pickle.npz", x=np.array([{"code": 1}], object))
    fault, _ = await fails(request, tools)
    assert fault.reason == "model"
    assert words in str(fault)


async def test_onnx_alone_needs_no_server(request_affine: Make, tools: Tools, server: Any) -> None:
    server.refusal = TrainyardError("nobody should ask")
    proven = await run(request_affine(to=["onnx"]), tools)
    assert proven.config is None
    assert proven.report.served is None
    assert (proven.folder / "model.onnx").exists()
    assert not (proven.folder / "triton").exists()


async def test_without_samples_the_report_says_so(request_affine: Make, tools: Tools) -> None:
    report = (await run(request_affine(samples=None), tools)).report
    assert report.notes == ["no samples were given: the proof rests on generated inputs"]
    assert report.served is not None
    assert report.served.label is None


async def test_a_server_that_refuses_or_answers_otherwise_fails_it(
    request_affine: Make, tools: Tools, server: Any
) -> None:
    server.refusal = TrainyardError("the server at x refuses the model: no backend")
    fault, _ = await fails(request_affine(), tools)
    assert (fault.reason, str(fault)) == ("serving", "the server at x refuses the model: no backend")
    server.refusal, server.skew = None, 0.5
    fault, report = await fails(request_affine(), tools)
    assert str(fault).startswith("the server answers other numbers: 3 of 3 elements differ")
    assert report["served"]["passed"] is False


async def test_trouble_of_the_machine_leaves_the_way_free_for_the_next_try(
    request_affine: Make, tools: Tools, exporter: Any
) -> None:
    exporter.acts = ["machine", "right"]
    request = request_affine()
    with pytest.raises(Retryable, match="the disk is full"):
        await run(request, tools)
    assert not (tools.state / "conversions" / request.conversion_id).exists()
    assert (await run(request, tools)).report.verdict == "proven"
    assert [item.name for item in (tools.state / "conversions").iterdir()] == [request.conversion_id]
