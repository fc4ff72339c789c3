"""Networks and parameters of MindSpore that reach further than their tensors or are broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=60, memory=4 * 2**30)
Damage = Callable[[bytes], bytes]


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def noise(content: bytes) -> bytes:
    return content[:40] + b"\xff" * 500


def nothing(content: bytes) -> bytes:
    del content
    return b""


BAD: dict[str, tuple[str, Damage, str]] = {
    "loads a library": ("library.mindir", bytes, "net.mindir: Custom reaches files or code; convert.trust lets it"),
    "calls Python": ("bare.mindir", bytes, "net.mindir: PyInterpret reaches files or code; convert.trust lets it"),
    "calls Python in a function": (
        "within.mindir",
        bytes,
        "net.mindir: PyExecute reaches files or code; convert.trust",
    ),
    "parameters above its folder": ("above.mindir", bytes, "lies outside of its folder"),
    "parameters anywhere": ("root.mindir", bytes, "lies outside of its folder"),
    "half a network": ("honest.mindir", half, "net.mindir cannot be read as MindIR: Truncated message"),
    "noise after its head": ("honest.mindir", noise, "net.mindir cannot be read as MindIR: Truncated message"),
    "no network": ("honest.mindir", nothing, "net.mindir holds no network that takes anything"),
    "a network without a node": ("empty.mindir", bytes, "net.mindir holds no network that takes anything"),
    "an operator that nobody knows": (
        "unknown.mindir",
        bytes,
        "the model fails on its declared inputs (random, batch 1)",
    ),
    "a node from nowhere": ("nowhere.mindir", bytes, "net.mindir cannot be read as MindIR: Load MindIR failed"),
    "a parameter of terabytes": ("huge.mindir", bytes, "net.mindir is not whole: "),
    "a negative dimension": ("negative.mindir", bytes, "net.mindir is not whole: "),
    "a parameter that is cut short": ("short.mindir", bytes, "net.mindir is not whole: "),
    "a type that is none": ("typeless.mindir", bytes, "net.mindir is not whole: "),
}


@pytest.fixture
def made(make_files: Callable[..., Path]) -> Path:
    return make_files("mindspore", "mindspore")


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_network_of_mindspore_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    name, damage, words = BAD[kind]
    (given / "net.mindir").write_bytes(damage((made / name).read_bytes()))
    assert words in await refusal("net.mindir", limits=LIMITS)


NET = "from mindspore import nn\ndef build():\n    return nn.Dense(3, 2)\n"
STORED: dict[str, tuple[str, Damage, str]] = {
    "half the parameters": (
        "honest.ckpt",
        half,
        "net.ckpt cannot be read as parameters of MindSpore: Truncated message",
    ),
    "parameters of noise": (
        "honest.ckpt",
        noise,
        "net.ckpt cannot be read as parameters of MindSpore: Truncated message",
    ),
    "no parameters": ("honest.ckpt", nothing, "ValueError: The loaded parameter dict is empty"),
    "parameters of terabytes": ("huge.ckpt", bytes, "net.ckpt is not whole: "),
    "a parameter that is cut short": ("short.ckpt", bytes, "net.ckpt is not whole: "),
    "a type that is none": ("typeless.ckpt", bytes, "as parameters of nets:build: ValueError: 'Nothing'"),
    "parameters of another model": ("other.ckpt", bytes, "net.ckpt lacks 1 parameters of the model, weight among them"),
}


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the network is imported from."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "nets.py").write_text(NET)
    return folder


@pytest.mark.parametrize("kind", STORED)
async def test_bad_parameters_of_mindspore_are_refused(
    given: Path, made: Path, code: Path, refusal: Any, kind: str
) -> None:
    name, damage, words = STORED[kind]
    (given / "net.ckpt").write_bytes(damage((made / name).read_bytes()))
    inputs = [{"name": "x", "shape": ["batch", 3]}]
    assert words in await refusal("net.ckpt", limits=LIMITS, model="nets:build", inputs=inputs, workdir=code)


async def test_honest_files_of_mindspore_are_converted(given: Path, made: Path, convert_file: Any) -> None:
    (given / "net.mindir").write_bytes((made / "honest.mindir").read_bytes())
    assert (await convert_file("net.mindir", limits=LIMITS)).report.verdict == "proven"
