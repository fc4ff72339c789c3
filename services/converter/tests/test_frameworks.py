"""Models of other frameworks, each from the file that people have of it, through the real worker in its own environment."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract.conversions import Target
from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.opening import format_of
from trainyard.converter.conversion import Proven
from trainyard.converter.core.report import ConversionReport
from trainyard.converter.core.targets import WRITERS as ALL_WRITERS
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.testing.evidence import Subject, of_report

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
ZOO = Path(__file__).parent / "zoo"
FIVE = [{"name": "x", "shape": ["batch", 5]}]
IMAGE = [{"name": "image", "shape": ["batch", 3, 16, 16]}]

MODELS: dict[str, dict[str, dict[str, Any]]] = {
    "classical": {
        **{f"{name}.joblib": {"trust": True} for name in ("logistic", "boosted", "adaboost", "forest", "missing")},
        **{f"{name}.{ending}": {} for name in ("two", "line") for ending in ("json", "txt", "cbm")},
        **{f"three.{ending}": {} for ending in ("ubj", "txt", "cbm")},
    },
    "tensorflow": {
        **{name: {} for name in ("two.keras", "two.h5", "two_saved", "two.pb", "two.tflite")},
        **{name: {} for name in ("recurrent.keras", "any_size.keras", "masked.keras", "scaled.keras", "grouped.keras")},
        "coded.keras": {"trust": True},
    },
    "jax": {
        "net.msgpack": {"model": "jax_nets:Net", "inputs": FIVE},
        "bare.npz": {"model": "jax_nets:bare", "inputs": FIVE},
        "bare.safetensors": {"model": "jax_nets:bare", "inputs": FIVE, "format": "jax"},
    },
    "paddle": {
        "net.json": {},
        "old.pdmodel": {},
        "old_static.pdmodel": {},
        "net.pdparams": {"model": "paddle_nets:plain", "inputs": IMAGE},
    },
    "mindspore": {
        "net.mindir": {},
        "net.ckpt": {"model": "mindspore_nets:Net", "inputs": IMAGE},
        "recurrent.ckpt": {"model": "mindspore_nets:Recurrent", "inputs": [{"name": "x", "shape": ["batch", 4, 5]}]},
    },
    "torch": {
        "residual.pt": {"model": "models:Residual", "inputs": IMAGE},
        "residual.safetensors": {"model": "models:Residual", "inputs": IMAGE},
        "residual_script.pt": {"inputs": IMAGE},
        "residual.pt2": {"inputs": IMAGE, "trust": True},
    },
    "mxnet": {"net-symbol.json": {"inputs": [{"name": "data", "shape": ["batch", 3, 16, 16]}]}},
}
REFUSED = [
    ("classical", "logistic.joblib", {}, r"convert\.trust: reading sklearn can run code that lies in it"),
    ("tensorflow", "coded.keras", {}, r"coded\.keras holds code \(a Lambda layer\); convert\.trust lets it"),
    ("tensorflow", "coded.h5", {}, r"coded\.h5 holds code \(a Lambda layer\); convert\.trust lets it"),
    ("tensorflow", "lookup", {}, r"convert\.inputs: input 'words' \(string, \[-1\]\) cannot be converted"),
    ("tensorflow", "reader", {}, r"node 'ReadFile' \(ReadFile\) reaches files or code; convert\.trust lets it"),
    ("tensorflow", "reader.pb", {}, r"node 'ReadFile' \(ReadFile\) reaches files or code; convert\.trust lets it"),
    ("tensorflow", "counting.tflite", {}, r"counting\.tflite keeps state between calls \(ASSIGN_VARIABLE, READ_"),
    ("tensorflow", "two_saved", {"signature": "no"}, r"no signature 'no' \(convert\.signature\), it has: serv"),
    (
        "mindspore",
        "net.ckpt",
        {"inputs": IMAGE},
        r"this format holds weights only: name the code that builds the model",
    ),
    ("mindspore", "reaching.mindir", {}, r"reaching\.mindir: PyFunc reaches files or code; convert\.trust lets it"),
    ("mindspore", "outside.mindir", {}, r"outside\.mindir: parameter \S+ lies outside of its folder"),
    ("mindspore", "half.mindir", {}, r"half\.mindir cannot be read as MindIR"),
    ("jax", "bare.npz", {"inputs": FIVE}, r"convert\.model: jax holds weights only"),
]

WRITERS = [target for target in ALL_WRITERS if target != "tensorrt"]
"""An engine is built where its GPU is; see test_tensorrt.py."""
TREES: Mapping[Target, str] = dict.fromkeys(WRITERS, "TreeEnsembleClassifier")
PAIRS: dict[tuple[str, str], Mapping[Target, str]] = {
    ("torch", "residual.pt"): {},
    ("torch", "residual.safetensors"): {},
    ("torch", "residual_script.pt"): {},
    ("torch", "residual.pt2"): {},
    ("tensorflow", "two.keras"): {},
    ("tensorflow", "two.h5"): {},
    ("tensorflow", "two_saved"): {},
    ("tensorflow", "two.pb"): {},
    ("tensorflow", "two.tflite"): {},
    ("jax", "net.msgpack"): {},
    ("paddle", "net.json"): {},
    ("paddle", "net.pdparams"): {},
    ("mxnet", "net-symbol.json"): {},
    ("mindspore", "net.mindir"): {},
    ("classical", "logistic.joblib"): {**dict.fromkeys(WRITERS, "Scaler"), "openvino": "Normalizer"},
    ("classical", "two.json"): TREES,
    ("classical", "two.txt"): TREES,
    ("classical", "two.cbm"): TREES,
}
"""A model of each format, and which targets refuse it, in what words; all others take it."""

Run = Callable[..., Awaitable[Proven]]
Keep = Callable[[Subject, ConversionReport], None]


@pytest.fixture(scope="module")
def made(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of an environment's models, made once."""
    folders: dict[str, Path] = {}

    def make(environment: str) -> Path:
        if environment not in folders:
            folder = folders[environment] = tmp_path_factory.mktemp(environment)
            recipe = catalogue.read(ROOT / "deploy" / "converters", environment)
            python = cache.ensure(recipe, images, lambda words: None).python
            subprocess.run([python, ZOO / f"make_{environment}.py", folder], check=True, timeout=300)
        return folders[environment]

    return make


@pytest.fixture
def run(made: Callable[[str], Path], real_tools: Tools, convert_files: Run) -> Run:
    async def convert_one(environment: str, weights: str, **changes: Any) -> Proven:
        return await convert_files(real_tools, made(environment), weights=weights, **changes)

    return convert_one


@pytest.mark.parametrize(
    ("environment", "weights", "changes"),
    [(environment, name, changes) for environment, models in MODELS.items() for name, changes in models.items()],
)
async def test_a_model_becomes_equal_onnx(
    run: Run, made: Callable[[str], Path], evidence: Keep, environment: str, weights: str, changes: dict[str, Any]
) -> None:
    proven = await run(environment, weights, **changes)
    evidence(Subject(weights, format_of(made(environment) / weights, named=changes.get("format"))), proven.report)
    assert proven.report.verdict == "proven"
    assert proven.report.max_abs_error is not None
    assert len(proven.report.batch_sizes) >= 3
    assert proven.report.served is not None
    assert proven.report.served.passed


@pytest.mark.parametrize(("environment", "weights"), PAIRS)
async def test_a_format_becomes_another_or_says_why_not(
    run: Run,
    made: Callable[[str], Path],
    read_report: Callable[[ConversionFault], ConversionReport],
    evidence: Keep,
    environment: str,
    weights: str,
) -> None:
    try:
        report = (await run(environment, weights, **MODELS[environment][weights], to=list(WRITERS))).report
    except ConversionFault as fault:
        report = read_report(fault)
    subject = Subject(weights, format_of(made(environment) / weights))
    evidence(subject, report)
    found = {item.target: item for item in of_report(subject, report)}
    assert set(found) == {"onnx", *WRITERS}
    refused = {target: item.cause for target, item in found.items() if item.verdict == "refused"}
    wanted = PAIRS[environment, weights]
    assert set(refused) == set(wanted), refused
    assert all(words in refused[target] for target, words in wanted.items()), refused


@pytest.mark.parametrize(("environment", "weights", "changes", "words"), REFUSED)
async def test_a_refusal_says_what_would_help(
    run: Run, environment: str, weights: str, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConversionFault, match=words):
        await run(environment, weights, **changes)


async def test_outputs_bear_the_names_of_the_model(run: Run) -> None:
    proven = await run("tensorflow", "two.keras")
    assert [item["name"] for item in proven.report.outputs] == ["classes", "score"]
    assert [item["name"] for item in proven.report.inputs] == ["image"]


async def test_a_batch_that_is_fixed_in_a_network_stays_fixed(run: Run) -> None:
    proven = await run("mindspore", "fixed.mindir")
    assert [item["shape"] for item in proven.report.inputs] == [(4, 3, 16, 16)]
    assert proven.report.verdict == "proven"
