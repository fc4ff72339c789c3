"""Real models, trained ones and architectures, through the converter's own path: each becomes equal ONNX, or is refused for
a cause that stands in its row of `gallery/gallery.toml`. `just models` runs it and writes its evidence down.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from trainyard.common.contract.conversions import ConvertSpec
from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.images import Interpreters
from trainyard.converter.adapters.opening import format_of
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.conversion import Proven
from trainyard.converter.core import cases
from trainyard.converter.core.report import ConversionReport
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.testing.evidence import Subject, of_report

pytestmark = [pytest.mark.models, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
GALLERY = Path(__file__).parent / "gallery"
TABLE = tomllib.loads((GALLERY / "gallery.toml").read_text())
ROWS_OF_SAMPLES = 5
FAITHFUL = 0.999
"""Cosine of a net's answer with the reference: the gate forgives what is below its absolute tolerance, this does not."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    package: str
    weights: str = ""
    """In the package; empty: random ones are made."""
    model: str = ""
    input: tuple[str, ...] = ()
    below: int = 2
    fixed: dict[str, int] = field(default_factory=dict)
    trust: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    """Target → words of the cause, where the right answer is a refusal."""

    @property
    def tensors(self) -> list[dict[str, Any]]:
        parts = (item.split(":") for item in self.input)
        return [
            {"name": name, "dtype": dtype, "shape": [d if d == "batch" else int(d) for d in shape.split(",") if d]}
            for name, dtype, shape in parts
        ]


def rows() -> list[Row]:
    refused = TABLE["refused"]
    found = [
        Row(**{**row, "input": tuple(row["input"])}, refused=refused.get(row["name"], {})) for row in TABLE["trained"]
    ]
    for package in ("torchvision", "timm", "transformers", "keras"):
        family = TABLE[package]
        for name in family["names"]:
            inputs = tuple(TABLE["inputs"].get(name, family.get("input", ())))
            found.append(Row(name, package, input=inputs, below=family.get("below", 2), refused=refused.get(name, {})))
    return found


@pytest.fixture(scope="module")
def python(images: Path) -> Callable[[str], Path]:
    folders = {"gallery": GALLERY / "images"}

    def find(environment: str) -> Path:
        recipe = catalogue.read(folders.get(environment, ROOT / "deploy" / "converters"), environment)
        return cache.ensure(recipe, images, lambda words: None).python

    return find


def samples(row: Row, folder: Path) -> str | None:
    """A file of what the model is asked in life; without declared inputs the generated ones have to do."""
    random = np.random.default_rng(1)
    arrays = {}
    for spec in ConvertSpec.model_validate({"weights": "x.onnx", "inputs": row.tensors}).inputs:
        shape = cases.shape_of(spec, ROWS_OF_SAMPLES, free=7)
        if spec.name in row.fixed:
            arrays[spec.name] = np.full(shape, row.fixed[spec.name], spec.dtype)
        elif spec.dtype.startswith("int"):
            arrays[spec.name] = random.integers(0, row.below, shape).astype(spec.dtype)
        else:
            arrays[spec.name] = random.standard_normal(shape).astype(spec.dtype)
    if not arrays:
        return None
    np.savez(folder / "samples.npz", **arrays)  # type: ignore[arg-type]
    return str(folder / "samples.npz")


def made(row: Row, python: Callable[[str], Path], folder: Path) -> dict[str, Any]:
    """The model's file, and what the request says of it."""
    if row.package == "keras":
        side = TABLE["sides"].get(row.name, 64)
        command = [python("tensorflow"), GALLERY / "make_keras.py", row.name, str(side), folder / "model.keras"]
        subprocess.run(command, check=True, timeout=300)
        return {"weights": "model.keras"}
    given = samples(row, folder)
    asked = {"inputs": row.tensors, "samples": given, "trust": row.trust}
    if row.weights:
        packages = next((python("gallery").parents[1] / "lib").glob("python3*/site-packages"))
        factory = f"architectures:trained__{row.model}" if row.model else None
        return {"weights": str(packages / row.weights), "model": factory, **asked}
    name = f"{row.package}__{row.name}"
    command = [python("gallery"), GALLERY / "make_torch.py", name, str(given), folder / "model.pt"]
    subprocess.run(command, check=True, timeout=300)
    return {"weights": "model.pt", "model": f"architectures:{name}", **asked}


@pytest.fixture
def gallery_tools(images: Path, real_tools: Tools) -> Tools:
    """With the image `gallery` for what is read in its own image."""
    interpreters = Interpreters(GALLERY / "images", ROOT / "deploy" / "converters", images)
    return replace(real_tools, exporter=WorkerExporter(interpreters.python))


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.package}-{row.name}")
async def test_a_real_model_is_equal_or_refused_for_a_cause(
    row: Row,
    python: Callable[[str], Path],
    gallery_tools: Tools,
    convert_files: Callable[..., Awaitable[Proven]],
    read_report: Callable[[ConversionFault], ConversionReport],
    evidence: Callable[[Subject, ConversionReport], None],
    tmp_path: Path,
) -> None:
    block = made(row, python, tmp_path)
    given = {"workdir": GALLERY, "image": "gallery", "batch_sizes": (1, 2, 3)}
    try:
        report = (await convert_files(gallery_tools, tmp_path, **given, **block)).report
    except ConversionFault as fault:
        report = read_report(fault)
    weights: Literal["trained", "random"] = "trained" if row.weights else "random"
    found = format_of(tmp_path / block["weights"])
    subject = Subject(row.name, found, versioned(row.package), weights, row.input)
    evidence(subject, report)
    refused = {line.target: line.cause for line in of_report(subject, report) if line.verdict == "refused"}
    assert set(refused) == set(row.refused), refused
    assert all(words in refused[target] for target, words in row.refused.items()), refused
    if "onnx" not in refused:
        assert faithful(report) >= FAITHFUL, json.dumps(report.comparisons)[:2000]


def versioned(package: str) -> str:
    """With its version, by the lock that it is installed from."""
    locks = [
        GALLERY / "images" / "gallery" / "requirements.lock",
        ROOT / "deploy/converters/tensorflow/requirements.lock",
    ]
    for lock in locks:
        for line in lock.read_text().splitlines():
            if line.startswith(f"{package}=="):
                return line.split()[0].replace("==", " ")
    raise LookupError(f"{package} is in no lock")


def faithful(report: ConversionReport) -> float:
    """The least cosine over what the model is asked in life; 0 where it answers nothing but zeros."""
    found = [item for item in report.comparisons if item["case"].startswith(("samples", "random"))]
    return float(min(item["cosine"] or 0.0 for item in found if item["dtype"].startswith("float")))
