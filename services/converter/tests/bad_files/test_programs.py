"""Networks of Paddle and MXNet that reach files or are broken: a program in JSON, and its parameters beside it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=60, memory=3 * 2**30)
Damage = Callable[[bytes], bytes]
DATA = {"inputs": [{"name": "data", "shape": ["batch", 3]}]}


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def noise(content: bytes) -> bytes:
    return b"\xff" * len(content)


def nothing(content: bytes) -> bytes:
    del content
    return b""


def deep(content: bytes) -> bytes:
    return content[:-1] + b', "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def wide(content: bytes) -> bytes:
    """The first dimension of the first tensor of a file of MXNet becomes huge: magic 16 bytes, count, magic, kind, rank."""
    return content[:32] + b"\xff\xff\xff\x7f\xff\xff\xff\x7f" + content[40:]


PADDLE: dict[str, tuple[str, str, Damage, str]] = {
    "reads a file": ("reads", "json", bytes, "reads.json: read_file reaches files or code; convert.trust lets it"),
    "writes a file": ("saves", "json", bytes, "saves.json: save_combine reaches files or code; convert.trust lets it"),
    "half a program": ("honest", "json", half, "honest.json cannot be read as paddle: Expecting value"),
    "a program of 100,000 levels": (
        "honest",
        "json",
        deep,
        "honest.json cannot be read as paddle: maximum recursion depth exceeded",
    ),
    "an operator that nobody knows": (
        "honest",
        "json",
        lambda text: text.replace(b"1.matmul", b"1.explode"),
        "the model fails on its declared inputs (random, batch 1)",
    ),
    "half the parameters": (
        "honest",
        "pdiparams",
        half,
        "honest.json cannot be read as a Paddle model: (Unavailable) Cannot read tensor desc size",
    ),
    "parameters of noise": (
        "honest",
        "pdiparams",
        noise,
        "honest.json cannot be read as a Paddle model: (InvalidArgument) Deserialize to tensor failed",
    ),
    "no parameters": (
        "honest",
        "pdiparams",
        nothing,
        "honest.json cannot be read as a Paddle model: (Unavailable) Cannot read tensor desc size",
    ),
}


@pytest.mark.parametrize("kind", PADDLE)
async def test_a_bad_program_of_paddle_is_refused(
    given: Path, make_files: Callable[..., Path], refusal: Any, kind: str
) -> None:
    made = make_files("paddle", "paddle")
    name, ending, damage, words = PADDLE[kind]
    for file in (f"{name}.json", f"{name}.pdiparams"):
        shutil.copy(made / file, given)
    damaged = given / f"{name}.{ending}"
    damaged.write_bytes(damage(damaged.read_bytes()))
    assert words in await refusal(f"{name}.json", limits=LIMITS)
    assert not (made / "HARM").exists()


OLD: dict[str, tuple[str, Damage, str]] = {
    "reads a file": ("old_reads", bytes, "old_reads.pdmodel: read_file reaches files or code; convert.trust lets it"),
    "half a program": ("old_honest", half, "old_honest.pdmodel cannot be read as a Paddle model"),
    "noise": ("old_honest", noise, "old_honest.pdmodel cannot be read as a Paddle model"),
}


@pytest.mark.parametrize("kind", OLD)
async def test_a_bad_program_of_paddle_2_is_refused(
    given: Path, make_files: Callable[..., Path], refusal: Any, kind: str
) -> None:
    made = make_files("paddle", "paddle")
    name, damage, words = OLD[kind]
    shutil.copy(made / f"{name}.pdiparams", given)
    (given / f"{name}.pdmodel").write_bytes(damage((made / f"{name}.pdmodel").read_bytes()))
    assert words in await refusal(f"{name}.pdmodel", limits=LIMITS)


def other(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Another symbol."""

    def damage(content: bytes) -> bytes:
        symbol = json.loads(content)
        change(symbol)
        return json.dumps(symbol).encode()

    return damage


def reading(symbol: dict[str, Any]) -> None:
    symbol["nodes"][-1].update(op="_cvimread", attrs={"filename": "/etc/passwd"}, inputs=[])


def calling(symbol: dict[str, Any]) -> None:
    symbol["nodes"][-1].update(op="Custom", attrs={"op_type": "os.system"})


def twice(content: bytes) -> bytes:
    """Two operators of one node: which of them is it?"""
    return content.replace(b'"op": "FullyConnected"', b'"op": "_Native", "op": "FullyConnected"', 1)


MXNET: dict[str, tuple[str, Damage, str]] = {
    "half a symbol": ("net-symbol.json", half, "net-symbol.json cannot be read as mxnet: Expecting"),
    "a symbol of 100,000 levels": (
        "net-symbol.json",
        deep,
        "net-symbol.json cannot be read as mxnet: maximum recursion depth exceeded",
    ),
    "reads a picture": (
        "net-symbol.json",
        other(reading),
        "net-symbol.json: _cvimread reaches files or code; convert.trust lets it",
    ),
    "calls Python": (
        "net-symbol.json",
        other(calling),
        "net-symbol.json: Custom reaches files or code; convert.trust lets it",
    ),
    "calls an address": (
        "net-symbol.json",
        other(lambda s: s["nodes"][-1].update(op="_Native", attrs={"info": "0x4141414141"})),
        "net-symbol.json: _Native reaches files or code; convert.trust lets it",
    ),
    "calls an address beside": (
        "net-symbol.json",
        twice,
        "net-symbol.json: _Native reaches files or code; convert.trust lets it",
    ),
    "an operator that nobody knows": (
        "net-symbol.json",
        other(lambda s: s["nodes"][-1].update(op="explode")),
        "net-symbol.json cannot be read as MXNet: Failed loading Op",
    ),
    "a node from nowhere": (
        "net-symbol.json",
        other(lambda s: s["nodes"][-1].update(inputs=[[10**9, 0, 0]] * 3)),
        "net-symbol.json cannot be read as MXNet: Check failed: e.node_id",
    ),
    "a node from before all": (
        "net-symbol.json",
        other(lambda s: s["nodes"][-1].update(inputs=[[-5, 0, 0]] * 3)),
        "net-symbol.json cannot be read as MXNet: Check failed: e.node_id",
    ),
    "a circle": (
        "net-symbol.json",
        other(lambda s: s["nodes"][-1].update(inputs=[[3, 0, 0]] * 3)),
        "convert.inputs names data; the model takes",
    ),
    "billions of units": (
        "net-symbol.json",
        other(lambda s: s["nodes"][-1]["attrs"].update(num_hidden="2000000000")),
        "Shape inconsistent, Provided = [2,3], inferred shape=(2000000000,3)",
    ),
    "half the parameters": ("net-0000.params", half, "net-0000.params cannot be read as MXNet: Check failed"),
    "parameters of noise": ("net-0000.params", noise, "net-0000.params cannot be read as MXNet: Check failed"),
    "no parameters": ("net-0000.params", nothing, "net-0000.params cannot be read as MXNet: Check failed"),
    "parameters of terabytes": ("net-0000.params", wide, "net-0000.params cannot be read as MXNet: "),
}


@pytest.mark.parametrize("kind", MXNET)
async def test_a_bad_network_of_mxnet_is_refused(
    given: Path, make_files: Callable[..., Path], refusal: Any, kind: str
) -> None:
    made = make_files("mxnet", "mxnet")
    name, damage, words = MXNET[kind]
    for file in ("net-symbol.json", "net-0000.params"):
        shutil.copy(made / file, given)
    (given / name).write_bytes(damage((given / name).read_bytes()))
    assert words in await refusal("net-symbol.json", limits=LIMITS, **DATA)


async def test_honest_programs_are_converted(given: Path, make_files: Callable[..., Path], convert_file: Any) -> None:
    for made in (make_files("paddle", "paddle"), make_files("mxnet", "mxnet")):
        shutil.copytree(made, given, dirs_exist_ok=True)
    for name, block in (("honest.json", {}), ("net-symbol.json", DATA)):
        proven = await convert_file(name, limits=LIMITS, **block)
        assert proven.report.verdict == "proven"
