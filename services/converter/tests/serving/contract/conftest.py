"""One repository, two servers, two protocols: ours and a real Triton, each asked by `tritonclient` over HTTP and gRPC.

Triton's wheel has no ONNX backend: there the same repository is run by one of ours in Python (`onnxruntime/model.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tritonclient.grpc
import tritonclient.http
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from trainyard.common.images import cache, catalogue
from trainyard.common.loopback import free_port

DEPLOY = Path(__file__).parents[5] / "deploy"
TRITON = pytest.param("triton", marks=[pytest.mark.triton, pytest.mark.timeout(900)])
KINDS = {"BOOL": TensorProto.BOOL, "STRING": TensorProto.STRING} | {
    f"{prefix}{bits}": getattr(TensorProto, f"{word}{bits}")
    for prefix, word, sizes in (("UINT", "UINT", (8, 16, 32, 64)), ("INT", "INT", (8, 16, 32, 64)))
    for bits in sizes
} | {"FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE}  # fmt: skip


def plus(path: Path, number: float) -> None:
    """y = x + number on float32 [batch, 3]."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in ("x", "y")]
    constant = helper.make_tensor("number", TensorProto.FLOAT, [], [number])
    _save(helper.make_graph([helper.make_node("Add", ["x", "number"], ["y"])], "plus", ends[:1], ends[1:], [constant]), path)


def echo(path: Path) -> None:
    """An output `out_K` for each input `K`, of every datatype."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("Identity", [kind], [f"out_{kind}"]) for kind in KINDS]
    inputs = [helper.make_tensor_value_info(kind, code, ["batch", 2]) for kind, code in KINDS.items()]
    outputs = [helper.make_tensor_value_info(f"out_{kind}", code, ["batch", 2]) for kind, code in KINDS.items()]
    _save(helper.make_graph(nodes, "echo", inputs, outputs), path)


def total(path: Path) -> None:
    """s = the sum of a row of x, without a dimension of its own: float32 [batch, 3] → [batch]."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["s"], keepdims=0)]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])
    _save(helper.make_graph(nodes, "total", [x], [helper.make_tensor_value_info("s", TensorProto.FLOAT, ["batch"])], [axes]), path)


def _save(graph: Any, path: Path) -> None:
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


HEAD = 'name: "{name}"\nplatform: "onnxruntime_onnx"\nmax_batch_size: {batch}\ninstance_group {{ kind: KIND_CPU }}\n'
PLUS = 'input {{ name: "x" data_type: TYPE_FP32 dims: 3 }}\noutput {{ name: "y" data_type: TYPE_FP32 dims: 3 {more} }}\n'


def configure(folder: Path, name: str, body: str, *, batch: int = 4) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "config.pbtxt").write_text(HEAD.format(name=name, batch=batch) + body)


def fill(folder: Path) -> None:
    """The models that the suite asks for. Version n of those with several adds n."""
    for name, policy in (
        ("newest", ""),
        ("every", "version_policy { all {} }"),
        ("some", "version_policy { specific { versions: 1 versions: 3 } }"),
        ("two", "version_policy { latest { num_versions: 2 } }"),
    ):
        configure(folder, name, PLUS.format(more='label_filename: "labels.txt"') + policy)
        (folder / name / "labels.txt").write_text("low\nmiddle\nhigh\n")
        for version in (1, 2, 3):
            plus(folder / name / str(version) / "model.onnx", version)
    configure(folder, "unbatched", PLUS.format(more="").replace("dims: 3", "dims: [-1, 3]"), batch=0)
    plus(folder / "unbatched" / "1" / "model.onnx", 1)
    ends = [f'input {{ name: "{kind}" data_type: TYPE_{kind} dims: 2 }}\n' for kind in KINDS]
    ends += [f'output {{ name: "out_{kind}" data_type: TYPE_{kind} dims: 2 }}\n' for kind in KINDS]
    configure(folder, "echo", "".join(ends))
    echo(folder / "echo" / "1" / "model.onnx")
    scalar = 'output { name: "s" data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }\n'
    configure(folder, "total", PLUS.format(more="").split("\n")[0] + "\n" + scalar)
    total(folder / "total" / "1" / "model.onnx")
    configure(folder, "broken", PLUS.format(more=""))
    (folder / "broken" / "1").mkdir()
    (folder / "broken" / "1" / "model.onnx").write_bytes(b"nonsense")


@pytest.fixture(scope="session", params=["yard serve", TRITON])
def host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, serving: Callable[..., Any]
) -> Iterator[Any]:
    """A server with nothing loaded yet: `folder`, `http`, `grpc`."""
    folder = tmp_path_factory.mktemp("repository")
    fill(folder)
    with ExitStack() as stack:
        if request.param == "triton":
            images, until_live = request.getfixturevalue("images"), request.getfixturevalue("until_live")
            recipe = catalogue.read(DEPLOY / "servers", "triton")
            python = cache.ensure(recipe, images, lambda words: None).python
            yield stack.enter_context(tritonserver(folder, python, tmp_path_factory.mktemp("triton"), until_live))
        else:
            yield stack.enter_context(serving(folder, "--explicit"))


@dataclass(frozen=True, slots=True)
class Host:
    folder: Path
    http: str
    grpc: str


@contextmanager
def tritonserver(folder: Path, python: Path, scratch: Path, until_live: Callable[..., None]) -> Iterator[Host]:
    """The real one, in explicit model control, on loopback."""
    packages = next((python.parents[1] / "lib").glob("python*/site-packages"))
    triton, stub = packages / "pytriton" / "tritonserver", packages.parent.name.removeprefix("python")
    shutil.copytree(triton / "backends" / "python", scratch / "python")
    shutil.copy(triton / "python_backend_stubs" / stub / "triton_python_backend_stub", scratch / "python")
    shutil.copytree(Path(__file__).with_name("onnxruntime"), scratch / "onnxruntime")
    host = Host(folder, f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}")
    # The backend's stub is a program that embeds the interpreter: it needs its library, and finds packages by PATH.
    libraries = [str(packages / "nvidia_pytriton.libs"), str(sysconfig.get_config_var("LIBDIR"))]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    with (scratch / "log").open("w") as log:
        process = subprocess.Popen(
            [
                str(triton / "bin" / "tritonserver"), f"--model-repository={folder}", f"--backend-directory={scratch}",
                "--model-control-mode=explicit", "--allow-metrics=false", "--exit-on-error=false",
                "--http-address=127.0.0.1", f"--http-port={host.http.rpartition(':')[2]}",
                "--grpc-address=127.0.0.1", f"--grpc-port={host.grpc.rpartition(':')[2]}",
            ],
            env=environment, stderr=log, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        until_live(host, process)
        yield host
    except AssertionError:
        sys.stderr.write((scratch / "log").read_text()[-4000:])  # why it has ended
        raise
    finally:
        process.terminate()
        process.wait(60)


@dataclass(frozen=True, slots=True)
class Client:
    """The two clients of `tritonclient` as one: what differs between them is not what the suite is about."""

    module: Any
    inner: Any

    def ask(
        self, model: str, inputs: Mapping[str, np.ndarray[Any, Any]], *, outputs: Mapping[str, int] | None = None,
        version: str = "", binary: bool = True,
    ) -> dict[str, np.ndarray[Any, Any]]:  # fmt: skip
        """`outputs`: name → how many classes; 0: numbers. `binary`: HTTP alone has the choice."""
        tensors = []
        for name, array in inputs.items():
            tensor = self.module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
            how = {"binary_data": binary or array.dtype == np.float16} if self.module is tritonclient.http else {}
            tensors.append(tensor.set_data_from_numpy(array, **how) or tensor)
        asked = [self.module.InferRequestedOutput(*item) for item in self._wished(outputs, binary)] if outputs else None
        result = self.inner.infer(model, tensors, outputs=asked, model_version=version)
        answer = result.get_response()
        names = [item["name"] for item in answer["outputs"]] if isinstance(answer, dict) else [o.name for o in answer.outputs]
        return {name: result.as_numpy(name) for name in names}

    def _wished(self, outputs: Mapping[str, int], binary: bool) -> list[tuple[Any, ...]]:
        if self.module is tritonclient.http:
            return [(name, binary, classes) for name, classes in outputs.items()]
        return list(outputs.items())

    def refusal(self, *arguments: Any, **named: Any) -> tuple[str, str]:
        """Status and sentence of a request that must fail."""
        with pytest.raises(InferenceServerException) as caught:
            self.ask(*arguments, **named)
        return str(caught.value.status()).removeprefix("StatusCode."), str(caught.value.message())

    def metadata(self, model: str, version: str = "") -> dict[str, Any]:
        how = {} if self.module is tritonclient.http else {"as_json": True}
        return dict(self.inner.get_model_metadata(model, version, **how))

    def ready(self) -> set[tuple[str, str]]:
        """Name and version of what is served."""
        how = {} if self.module is tritonclient.http else {"as_json": True}
        index = self.inner.get_model_repository_index(**how)
        items = index if isinstance(index, list) else index.get("models", [])
        return {(item["name"], item["version"]) for item in items if item.get("state") == "READY"}


@pytest.fixture(scope="session", params=["http", "grpc"])
def client(request: pytest.FixtureRequest, host: Any) -> Iterator[Client]:
    module = tritonclient.http if request.param == "http" else tritonclient.grpc
    with module.InferenceServerClient(getattr(host, request.param)) as inner:
        yield Client(module, inner)
