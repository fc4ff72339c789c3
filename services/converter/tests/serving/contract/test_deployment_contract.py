"""Deployments onto a real Triton and onto ours: what is served stays until the new version has answered, and comes back."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import InvalidInput, TrainyardError, Unavailable
from trainyard.common.loopback import free_port
from trainyard.converter.adapters import proof, repository
from trainyard.converter.adapters.proof import Proof
from trainyard.converter.conversion import convert
from trainyard.converter.deploying import comparing, model
from trainyard.converter.deploying.deployment import Deployed, deploy
from trainyard.converter.deploying.model import Converted
from trainyard.converter.deploying.places import LoadApi, Place, SharedFolder, Undo, place
from trainyard.converter.deploying.server import ModelServer, connect
from trainyard.converter.preparation import Tools

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5]], np.float32)
Make = Callable[[], Any]


@pytest.fixture
async def make(request_affine: Callable[..., ConversionRequested], tools: Tools) -> Callable[[], Any]:
    """Converts y = 2·x + 1 anew, and gives its folder."""

    async def tell(step: str, words: str, fraction: float) -> None:
        del step, words, fraction

    async def run() -> Path:
        return (await convert(request_affine(), tools, tell)).folder

    return run


@pytest.fixture(params=["http", "grpc"])
def remote(request: pytest.FixtureRequest, host: Any) -> Iterator[ModelServer]:
    with connect(f"{request.param}://{getattr(host, request.param)}") as connected:
        yield connected


@pytest.fixture
def name() -> str:
    return f"model-{secrets.token_hex(4)}"  # the server is shared


def deployed(server: ModelServer, where: Place, converted: Converted, name: str, keep: int = 1) -> Deployed:
    return deploy(server, where, converted, name, keep, lambda words: None)


def answer(server: ModelServer, name: str, version: int) -> Any:
    return server.infer(name, {"x": X}, version)["y"]


def spoil(folder: Path) -> None:
    """What the framework is said to have computed is none of it."""
    kept = proof.read(folder)
    proof.write(folder, Proof(kept.case, kept.inputs, {key: value + 1 for key, value in kept.outputs.items()}))


def left_behind(host: Any) -> list[str]:
    return [item.name for item in host.folder.iterdir() if "-trial-" in item.name or item.name.startswith(".")]


async def test_versions_come_one_behind_the_other(host: Any, remote: ModelServer, make: Make, name: str) -> None:
    where = place(remote, host.folder)
    first = deployed(remote, where, model.read(await make()), name)
    assert (first.version, first.before, first.now) == (1, (), (1,))
    assert first.max_abs_error < 1e-5
    second = deployed(remote, where, model.read(await make()), name, keep=2)
    assert (second.version, second.before, second.now) == (2, (1,), (1, 2))
    assert np.array_equal(answer(remote, name, 2), 2 * X + 1)
    assert left_behind(host) == []


async def test_an_older_conversion_is_served_again(host: Any, remote: ModelServer, make: Make, name: str) -> None:
    where, older = place(remote, host.folder), model.read(await make())
    deployed(remote, where, older, name)
    deployed(remote, where, model.read(await make()), name)
    again = deployed(remote, where, older, name)
    assert (again.version, again.before, again.now) == (1, (2,), (1,))
    assert repository.versions(host.folder / name) == [1, 2]  # what it came from before is not written again


async def test_other_numbers_change_nothing(host: Any, remote: ModelServer, make: Make, name: str) -> None:
    where = place(remote, host.folder)
    deployed(remote, where, model.read(await make()), name)
    folder = await make()
    spoil(folder)
    with pytest.raises(TrainyardError, match="answers other numbers than the framework: y"):
        deployed(remote, where, model.read(folder), name)
    assert remote.versions(name) == (1,)
    assert repository.versions(host.folder / name) == [1]
    assert left_behind(host) == []


async def test_a_model_that_the_server_refuses_changes_nothing(
    host: Any, remote: ModelServer, make: Make, name: str
) -> None:
    folder = await make()
    (folder / "triton" / "affine" / "1" / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(TrainyardError, match=r"the server at .* says: "):
        deployed(remote, place(remote, host.folder), model.read(folder), name)
    assert remote.versions(name) == ()
    assert not (host.folder / name).exists()
    assert left_behind(host) == []


class Unlucky(SharedFolder):
    """A folder in which the model of this name turns into another one, after it was tried."""

    def __init__(self, server: ModelServer, folder: Path, name: str, other: Path) -> None:
        super().__init__(server, folder)
        self._name, self._other = name, other

    def bring(self, model: Converted, name: str, keep: int) -> tuple[int, Undo]:
        version, undo = super().bring(model, name, keep)
        if name == self._name:
            (self._folder / name / str(version) / "model.onnx").write_bytes(self._other.read_bytes())
            self._server.load(name)
        return version, undo


@pytest.fixture
def skewed(tmp_path: Path, affine_file: Path) -> Path:
    """y = 3·x + 1."""
    import onnx

    file, document = tmp_path / "skewed.onnx", onnx.load(affine_file)
    document.graph.initializer[0].float_data[:] = [3.0]
    onnx.save(document, file)
    return file


async def test_what_fails_in_its_place_is_taken_back(
    host: Any, remote: ModelServer, make: Make, name: str, skewed: Path
) -> None:
    where, unlucky = place(remote, host.folder), Unlucky(remote, host.folder, name, skewed)
    with pytest.raises(TrainyardError, match=f"other numbers .*; nothing is served as '{name}', as before"):
        deployed(remote, unlucky, model.read(await make()), name)
    assert not (host.folder / name).exists()
    deployed(remote, where, model.read(await make()), name)
    with pytest.raises(TrainyardError, match="other numbers .*; version 1 is served as before"):
        deployed(remote, unlucky, model.read(await make()), name)
    assert remote.versions(name) == (1,)
    assert np.array_equal(answer(remote, name, 1), 2 * X + 1)
    assert repository.versions(host.folder / name) == [1]


async def test_files_are_sent_where_no_folder_is_shared(
    host: Any, remote: ModelServer, make: Make, name: str, request: pytest.FixtureRequest
) -> None:
    if "yard serve" in request.node.name:
        with pytest.raises(InvalidInput, match=r"takes models from its folder alone \(name the folder"):
            place(remote, None)
        return
    where = place(remote, None)
    assert isinstance(where, LoadApi)
    assert deployed(remote, where, model.read(await make()), name).now == (1,)
    second = deployed(remote, where, model.read(await make()), name)
    assert (second.version, second.before, second.now) == (2, (1,), (2,))
    assert np.array_equal(answer(remote, name, 2), 2 * X + 1)
    assert not (host.folder / name).exists()
    assert left_behind(host) == []


async def test_two_versions_are_asked_the_same(
    host: Any, remote: ModelServer, make: Make, name: str, skewed: Path
) -> None:
    where = place(remote, host.folder)
    for _ in range(2):
        deployed(remote, where, model.read(await make()), name, keep=2)
    inputs = {"x": np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)}
    equal = comparing.compare(remote, name, (1, 2), inputs, 20)
    assert [(item.output, item.equal, item.requests, item.max_abs) for item in equal.differences] == [
        ("y", 5, 5, 0.0), ("z", 5, 5, 0.0),
    ]  # fmt: skip
    assert all(0 < item.p50 <= item.p99 and item.requests == 20 for item in equal.latency)
    (host.folder / name / "2" / "model.onnx").write_bytes(skewed.read_bytes())
    remote.load(name)
    other = comparing.compare(remote, name, (1, 2), inputs, 5).differences[0]
    assert (other.equal, other.max_abs) == (0, 1.0)
    with pytest.raises(InvalidInput, match=r"has no version 7 at .*: served are 1, 2 \(`yard deploy --keep 2`"):
        comparing.compare(remote, name, (1, 7), inputs, 5)


async def test_from_the_command_line(host: Any, make: Make, name: str, tmp_path: Path) -> None:
    def yard(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trainyard.client", *arguments]
        environment = {**os.environ, "TRAINYARD_STATE": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, check=False)

    to = ["--server", f"grpc://{host.grpc}"]
    for version in ("1", "2"):
        done = yard("deploy", str(await make()), *to, "--repository", str(host.folder), "--name", name, "--keep", "2")
        assert done.returncode == 0, done.stderr
        assert f"{name} version {version} is served by " in done.stdout
    np.savez(tmp_path / "inputs.npz", x=np.ones((4, 3), np.float32), labels=np.zeros(4))
    compared = yard("compare", name, "1", "2", *to, "--inputs", str(tmp_path / "inputs.npz"), "--requests", "8", "--json")
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)["differences"][0]["equal"] == 4
    refused = yard("compare", name, "1", "9", *to, "--inputs", str(tmp_path / "inputs.npz"))
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "has no version 9" in refused.stderr


def test_a_server_that_is_not_there() -> None:
    for scheme in ("http", "grpc"):
        with connect(f"{scheme}://127.0.0.1:{free_port()}") as nobody, pytest.raises(Unavailable, match="does not answer"):
            nobody.versions("affine")
    for address in ("nonsense", "ftp://127.0.0.1:80", "127.0.0.1", "http://127.0.0.1:80/v2"):
        with pytest.raises(InvalidInput, match="is no address of a server"), connect(address):
            pass
