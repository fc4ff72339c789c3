"""The page of conversions: it is that of its evidence, and every model of the gallery stands on it."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trainyard.converter.testing.evidence import Evidence, read

ROOT = Path(__file__).parents[2]
LINES = ROOT / "docs" / "reference" / "conversions.jsonl"
GALLERY = ROOT / "services" / "converter" / "tests" / "gallery" / "gallery.toml"
FAMILIES = ("torchvision", "timm", "transformers", "keras")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_conversions", ROOT / "tools" / "generate_conversions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(**changes: Any) -> Evidence:
    known: dict[str, Any] = {
        "model": "net",
        "package": "timm 1",
        "weights": "random",
        "format": "keras",
        "target": "onnx",
        "verdict": "equal",
        "max_abs_error": 1e-6,
        "seconds": 3.0,
    }
    return Evidence.model_validate({**known, **changes})


def test_the_page_is_that_of_its_evidence(tool: ModuleType) -> None:
    assert tool.check(read(LINES)) == 0


def test_a_page_that_differs_is_told(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "PAGE", tmp_path / "conversions.md")
    tool.PAGE.write_text(tool.page([line()]))
    assert tool.check([line()]) == 0
    assert tool.check([line(max_abs_error=2e-6)]) == 1
    assert "differs from its evidence" in capsys.readouterr().err


def test_a_later_run_takes_the_place_of_an_earlier_one(tool: ModuleType) -> None:
    known = [line(), line(model="other"), line(target="tflite")]
    found = tool.merged(known, [line(max_abs_error=0.5)])
    assert [(item.model, item.target, item.max_abs_error) for item in found] == [
        ("net", "onnx", 0.5),
        ("other", "onnx", 1e-6),
        ("net", "tflite", 1e-6),
    ]


def test_a_pair_tells_how_many_were_equal_and_why_the_others_were_not(tool: ModuleType) -> None:
    refused = line(model="strange", verdict="refused", cause="no function | for it", max_abs_error=None)
    page = tool.page([line(), line(model="other", max_abs_error=2e-3), refused])
    assert "| keras | 2 of 3, 2.0e-03 | – |" in page
    assert "| strange | keras | onnx | no function \\| for it |" in page
    assert "2 of 3 become equal ONNX." in page


def test_every_model_of_the_gallery_has_evidence_and_nothing_else_has() -> None:
    table = tomllib.loads(GALLERY.read_text())
    wanted = {row["name"] for row in table["trained"]} | {name for key in FAMILIES for name in table[key]["names"]}
    assert {item.model for item in read(LINES) if item.package} == wanted


def test_what_the_gallery_says_is_refused_was(tool: ModuleType) -> None:
    table = tomllib.loads(GALLERY.read_text())
    refused = {(item.model, str(item.target)): item.cause for item in read(LINES) if item.package and item.cause}
    wanted = {(model, target): words for model, causes in table["refused"].items() for target, words in causes.items()}
    assert set(refused) == set(wanted)
    assert all(words in refused[key] for key, words in wanted.items())
