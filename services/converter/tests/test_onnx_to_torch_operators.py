"""Graphs that other writers of PyTorch modules refuse or get wrong; here each has the numbers of onnxruntime.

All of them are written and run by one process of the interpreter of deploy/converters/torch; torch is slow to import.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser

from trainyard.converter import workers
from trainyard.converter.core import gate

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

ALL = """
import importlib.util, json, sys
from pathlib import Path
import numpy, onnx, torch
from onnx_to_torch.write import write
told = {}
for folder in sorted(Path(sys.argv[1]).iterdir()):
    try:
        parameters = write(onnx.load(folder / "model.onnx"), folder / "torch")
        sys.path.insert(0, str(folder / "torch"))
        for name in ("model", "operators"):
            sys.modules.pop(name, None)
        import model
        for file in folder.glob("in-*.npz"):
            given = numpy.load(file)
            with torch.no_grad():
                found = model.load()(*(torch.from_numpy(given[name]) for name in parameters))
            numpy.savez(folder / file.name.replace("in-", "out-"), *(one.numpy() for one in found))
    except Exception as error:
        told[folder.name] = f"{type(error).__name__}: {error}"
    finally:
        sys.path[:] = [one for one in sys.path if not one.endswith("/torch") or one.count("site-packages")]
print(json.dumps(told))
"""
RANDOM = np.random.default_rng(0)


def weights(*shape: int) -> Any:
    return (0.3 * RANDOM.normal(size=shape)).astype(np.float32)


def whole(*values: int) -> Any:
    return np.array(values, np.int64)


PICTURE, ROW, STEPS = (3, 8, 8), (4,), (4,)
GRAPHS: dict[str, tuple[str, dict[str, Any], tuple[int, ...]]] = {
    "LSTM": (
        "s = Transpose<perm=[1,0,2]>(x) y, h, c = LSTM<hidden_size=3, direction='bidirectional'>(s, w, r, b)",
        {"w": weights(2, 12, 4), "r": weights(2, 12, 3), "b": weights(2, 24)},
        (5, 4),
    ),
    "GRU": (
        "s = Transpose<perm=[1,0,2]>(x) y, h = GRU<hidden_size=3, linear_before_reset=1>(s, w, r, b)",
        {"w": weights(1, 9, 4), "r": weights(1, 9, 3), "b": weights(1, 18)},
        (5, 4),
    ),
    "OneHot": (
        "i = Cast<to=7>(x) y = OneHot<axis=1>(i, depth, values)",
        {"depth": whole(5), "values": np.array([-1, 2], np.float32)},
        ROW,
    ),
    "ScatterElements": (
        "t = Transpose<perm=[1,0]>(x) y = ScatterElements<axis=0, reduction='add'>(table, at, news)",
        {"table": weights(4, 2), "at": np.array([[1, 0], [1, 3]], np.int64), "news": weights(2, 2)},
        ROW,
    ),
    "ScatterND": (
        "t = Transpose<perm=[1,0]>(x) d = Mul(t, two) p = Gather<axis=0>(d, rows) y = ScatterND<reduction='add'>(t, at, p)",
        {"two": np.array(2, np.float32), "rows": whole(0, 1, 3), "at": np.array([[1], [1], [0]], np.int64)},
        ROW,
    ),
    "QDQ": (
        "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) k = DequantizeLinear<axis=0>(wq, ws, wz) y = Conv(d, k)",
        {
            "s": np.array(0.02, np.float32), "z": np.array(110, np.uint8), "ws": np.array([0.01, 0.03], np.float32),
            "wz": np.zeros(2, np.int8), "wq": RANDOM.integers(-99, 99, (2, 3, 3, 3)).astype(np.int8),
        },
        PICTURE,
    ),
    "Resize": (
        ("y = Resize<mode='linear', coordinate_transformation_mode='half_pixel'>(x, , up)"
        " z = Resize<mode='cubic', coordinate_transformation_mode='align_corners'>(x, , down)"
        " v = Resize<mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor'>(x, , up)"),
        {"up": np.array([1, 1, 2, 1.5], np.float32), "down": np.array([1, 1, 0.5, 0.75], np.float32)},
        PICTURE,
    ),
    "Reduce": (
        ("y = ReduceMax<keepdims=0>(x, last) z = ReduceL2(x, last) v = ReduceLogSumExp<keepdims=0>(x, both)"
        " u = ReduceSum<noop_with_empty_axes=1>(x) t = ReduceMean(x, both)"),
        {"last": whole(-1), "both": whole(2, 3)},
        PICTURE,
    ),
    "GlobalMaxPool": ("y = GlobalMaxPool(x)", {}, PICTURE),
    "reflecting Pad": ("y = Pad<mode='reflect'>(x, pads)", {"pads": whole(0, 0, 2, 1, 0, 0, 0, 3)}, PICTURE),
    "Loop": (
        ("y, all = Loop<body = step (int64 i, bool go, float[n,4] s) => (bool on, float[n,4] t, float[n,4] seen)"
        " { on = Identity(go) t = Mul(s, half) seen = Add(t, one) }>(count, yes, x)"),
        {
            "count": np.array(3, np.int64), "yes": np.array(True), "half": np.array(0.5, np.float32),
            "one": np.array(1, np.float32),
        },
        ROW,
    ),
    "Scan": (
        ("s = Transpose<perm=[1,0,2]>(x) start = ReduceSum<keepdims=0>(s, first)"
        " y, all = Scan<num_scan_inputs=1, scan_input_directions=[1], body = step (float[n,4] a, float[n,4] b) =>"
        " (float[n,4] c, float[n,4] d) { c = Add(a, b) d = Tanh(c) }>(start, s)"),
        {"first": whole(0)},
        (5, 4),
    ),
    "axes that are equal": ("y = Conv<pads=[1,1,1,1]>(x, w)", {"w": weights(20, 20, 3, 3)}, (20, 20, 20)),
    "a Reshape that flattens NHWC": (
        "t = Transpose<perm=[0,2,3,1]>(x) f = Reshape(t, to) y = MatMul(f, w)",
        {"to": whole(0, -1), "w": weights(192, 5)},
        PICTURE,
    ),
    "padding to the same size": (
        ("y = Conv<auto_pad='SAME_UPPER', strides=[2,2]>(x, w)"
        " z = AveragePool<auto_pad='SAME_UPPER', kernel_shape=[3,3], strides=[2,2], count_include_pad=0>(x)"
        " v = AveragePool<pads=[1,1,1,1], kernel_shape=[3,3], strides=[2,2], count_include_pad=1, ceil_mode=1>(x)"),
        {"w": weights(2, 3, 3, 3)},
        PICTURE,
    ),
}  # fmt: skip


def made(text: str, values: dict[str, Any], shape: tuple[int, ...]) -> onnx.ModelProto:
    """Every value at the top that no node takes up is an output."""
    dims = ",".join(str(dim) for dim in ("n", *shape))
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    model: onnx.ModelProto = parser.parse_model(
        f"{head} g (float[{dims}] x) => () {{ {text.replace(chr(39), chr(34))} }}"
    )
    graph = model.graph
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in values.items())
    taken = {name for node in graph.node for name in node.input}
    ends = [name for node in graph.node for name in node.output if name not in taken]
    graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in ends)
    return model


def numbers(name: str, batch: int, shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(batch)
    if name == "OneHot":  # from the end where they are negative, and nowhere beyond the depth
        return random.integers(-2, 7, (batch, *shape)).astype(np.float32)
    return random.normal(size=(batch, *shape)).astype(np.float32)


@pytest.fixture(scope="module")
def written(onnx_to_torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder of all graphs, with what torch gives for them, and what was told of those that were refused."""
    root = tmp_path_factory.mktemp("graphs")
    for name, (text, values, shape) in GRAPHS.items():
        (root / name).mkdir()
        onnx.save(made(text, values, shape), root / name / "model.onnx")
        for batch in (1, 2, 7):
            np.savez(root / name / f"in-{batch}.npz", x=numbers(name, batch, shape))
    ended = subprocess.run(
        [str(onnx_to_torch_python), "-c", ALL, str(root)],
        cwd=Path(workers.__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return root, json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", GRAPHS)
def test_44_what_other_writers_lack_has_equal_numbers(written: tuple[Path, dict[str, str]], name: str) -> None:
    root, told = written
    assert name not in told, told[name]
    session = onnxruntime.InferenceSession(str(root / name / "model.onnx"), providers=["CPUExecutionProvider"])
    for batch in (1, 2, 7):
        x = numbers(name, batch, GRAPHS[name][2])
        with np.load(root / name / f"out-{batch}.npz") as found:
            for file, expected in zip(found.files, session.run(None, {"x": x}), strict=True):
                compared = gate.compare(f"batch {batch}", file, expected, found[file])
                assert compared.passed, compared.fault
