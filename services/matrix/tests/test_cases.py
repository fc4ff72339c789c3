"""Resolutions and refusals written from the sources, one a row of `cases.tsv`, over the shipped facts.

`fits` yes: `answer` is the image, `more` the product, `note` a part of a note. `fits` no: `answer` is a part of the message
and `more` of what would work instead. `nodes`: `count product driver machine`, `;` between sorts of nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.facts import Row
from trainyard.matrix.core.images import BUILT_IN, Image
from trainyard.matrix.core.inventory import Inventory, Node
from trainyard.matrix.core.reading import read
from trainyard.matrix.core.resolve import Rejection, resolve

CASES = read("cases", (Path(__file__).parent / "cases.tsv").read_text())
GPU = ("gpu", "cpu")


UNMENDED = {
    "runs with the driver",
    "there is no accelerator",
    "did you mean 'flash-attention'?",
    "did you mean 'npu'?",
    "did you mean 'nvidia.com/gpu'?",
}
"""Refusals whose answer is no line of the job file."""


def gpu(name: str, framework: str, version: str, cuda: str, *features: str) -> Image:
    return Image(name, framework, Version(version), GPU, "cuda", cuda, features=features)


IMAGES = (
    *BUILT_IN,
    gpu("pytorch-2.14-cu126", "pytorch", "2.14.0", "12.6.3"),
    gpu("pytorch-2.14-cu130", "pytorch", "2.14.0", "13.0.2"),
    gpu("pytorch-2.11-cu126", "pytorch", "2.11.0", "12.6.3"),
    gpu("pytorch-2.11-cu128", "pytorch", "2.11.0", "12.8.1"),
    gpu("pytorch-2.11-cu130", "pytorch", "2.11.0", "13.0.2"),
    gpu("pytorch-2.9-cu128", "pytorch", "2.9.1", "12.8.1"),
    gpu("pytorch-2.7-cu128", "pytorch", "2.7.0", "12.8"),
    gpu("pytorch-2.7-cu128-fa", "pytorch", "2.7.0", "12.8", "flash-attention"),
    gpu("pytorch-2.6-cu126", "pytorch", "2.6.0", "12.6"),
    gpu("pytorch-2.4-cu124", "pytorch", "2.4.1", "12.4"),
    gpu("pytorch-2.0-cu118", "pytorch", "2.0.1", "11.8"),
    gpu("pytorch-1.13-cu117", "pytorch", "1.13.1", "11.7"),
    Image("pytorch-2.9-rocm", "pytorch", Version("2.9.0"), GPU, "rocm", "6.4"),
    Image("pytorch-2.7-cann", "pytorch", Version("2.7.1"), ("npu", "cpu"), "cann", "8.3.RC1"),
    Image("pytorch-cpu", "pytorch", Version("2.13.0"), ("cpu",)),
    gpu("tensorflow-2.15-cu122", "tensorflow", "2.15.0", "12.2"),
    gpu("tensorflow-2.21-cu125", "tensorflow", "2.21.0", "12.5"),
    gpu("jax-0.10-cu13", "jax", "0.10.2", "13.0"),
    gpu("jax-0.4-cu12", "jax", "0.4.30", "12.1"),
    Image("mindspore-2.7-cann", "mindspore", Version("2.7.1"), ("npu", "cpu"), "cann", "8.3.RC1"),
    gpu("paddle-3.2-cu129", "paddle", "3.2.1", "12.9"),
    Image("paddle-3.2-dcu", "paddle", Version("3.2.1"), ("dcu", "cpu"), "dtk"),
    Image("paddle-3.2-xpu", "paddle", Version("3.2.1"), ("xpu", "cpu"), "xpu"),
    gpu("mxnet-1.9-cu112", "mxnet", "1.9.1", "11.2"),
    Image("tpu-jax", "jax", Version("0.10.2"), ("tpu",), "tpu"),
)

CATALOGUE = Catalogue.of(IMAGES, shipped())


def document(case: Row) -> dict[str, Any]:
    framework = {"name": case["framework"], "version": case["version"] or None}
    return {
        "name": "a",
        "framework": {**framework, "features": [case["features"]] if case["features"] else []},
        "image": case["image"] or None,
        "command": ["true"],
        "resources": {"accelerators": json.loads(case["accelerators"])},
    }


def ask(case: Row, **changes: Any) -> Resolution | Rejection:
    spec = JobSpec.model_validate({**document(case), **changes})
    return resolve(spec, CATALOGUE, Inventory.of(nodes(case["nodes"]), shipped().hardware))


def nodes(text: str) -> list[Node]:
    made = []
    for number, sort in enumerate(filter(None, text.split(";"))):
        count, product, *rest = sort.split(" ")
        driver, machine = (*rest, None, None)[:2]
        made.append(Node(f"node-{number}", product, int(count), driver, machine or "x86_64"))
    return made


def test_the_table_is_large_enough_and_every_case_has_a_source() -> None:
    refused = sum(case["fits"] == "no" for case in CASES)
    assert len(CASES) >= 60
    assert 0.45 <= refused / len(CASES) <= 0.55
    assert all(case["source"].strip() for case in CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case["fits"] == "yes"], ids=lambda case: case["case"])
def test_what_fits(case: Row) -> None:
    answer = ask(case)
    assert isinstance(answer, Resolution), answer
    assert (answer.image, answer.product or "") == (case["answer"], case["more"])
    assert any(case["note"] in note for note in answer.notes) if case["note"] else not answer.notes
    assert answer.reasons[-1].rule == "choice"


@pytest.mark.parametrize("case", [case for case in CASES if case["fits"] == "no"], ids=lambda case: case["case"])
def test_what_is_refused(case: Row) -> None:
    answer = ask(case)
    assert isinstance(answer, Rejection), answer
    assert case["answer"] in answer.message
    assert case["more"] in " | ".join(answer.nearest)
    assert not answer.reasons[-1].passed


@pytest.mark.parametrize("case", [case for case in CASES if case["fits"] == "no"], ids=lambda case: case["case"])
def test_what_is_written_instead_can_be_pasted(case: Row) -> None:
    """Every suggestion in YAML is a valid change of the job file, and one of them at least gets the job on."""
    answer = ask(case)
    assert isinstance(answer, Rejection)
    pasted = [
        yaml.safe_load(text) for text in answer.nearest if text.startswith(("framework:", "resources:", "image:"))
    ]
    # Neither a driver nor a word that is like no other can be mended in the job file.
    if not pasted:
        assert case["answer"] in UNMENDED
        return
    outcomes = [ask(case, **change) for change in pasted]
    assert any(isinstance(outcome, Resolution) for outcome in outcomes), (answer.nearest, outcomes)


@pytest.mark.parametrize("case", [case for case in CASES if case["fits"] == "no"], ids=lambda case: case["case"])
def test_advice_is_given_once(case: Row) -> None:
    answer = ask(case)
    assert isinstance(answer, Rejection)
    assert len(set(answer.nearest)) == len(answer.nearest)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        # Known to run torch 2.6, and nearest to what was meant; nobody has told of Gaudi or MI300.
        ("B200 and torch 2.6", ["framework: pytorch>=2.7", 'resources: {accelerators: "1(h100, h200, gh200)"}']),
        # The job names its image, so that another release would not help.
        ("V100 and an image for CUDA 13", ['resources: {accelerators: "1(a30, a100, rtx-3090)"}']),
        ("torch for Ascend at another version", ["framework: pytorch==2.7.1"]),
    ],
)
def test_the_nearest_comes_first(name: str, advice: list[str]) -> None:
    answer = ask(next(case for case in CASES if case["case"] == name))
    assert isinstance(answer, Rejection)
    assert list(answer.nearest[: len(advice)]) == advice


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("driver 450 and CUDA 12", "the nodes have 450.80.02"),
        ("more than stand in a machine", "the largest machine has 8"),
        ("FlashAttention on T4", "t4 has compute capability 7.5"),
    ],
)
def test_a_refusal_gives_its_own_reason(name: str, known: str) -> None:
    answer = ask(next(case for case in CASES if case["case"] == name))
    assert isinstance(answer, Rejection)
    assert answer.message.endswith(f"({known})")
