"""ONNX's own node tests, one list, three columns: onnxruntime, our writer, onnx2torch.

Run by the interpreter of deploy/converters/torch: `just onnx-to-torch`. A test counts for a column when every output of
every data set is equal under the test's own tolerance. Fails under 90 % of what onnxruntime passes, or when onnx2torch
passes as many.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import io
import sys
import tempfile
import types
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch

WORKERS = Path(__file__).parents[2] / "services/converter/src/trainyard/converter/workers"
FLOOR = 0.90


def same(expected, found, rtol, atol):
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(same(one, other, rtol, atol) for one, other in zip(expected, found, strict=True))
        )
    if expected is None or found is None:
        return expected is found
    expected, found = np.asarray(expected), np.asarray(found)
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return False
    if expected.dtype.kind in "fc":
        return bool(np.allclose(expected, found, rtol, atol, equal_nan=True))
    if expected.dtype.kind == "V":
        return bool(np.allclose(expected.astype(np.float32), found.astype(np.float32), rtol, atol, equal_nan=True))
    return bool(np.array_equal(expected, found))


def tensor(value):
    if value is None or isinstance(value, list):
        return None if value is None else [tensor(one) for one in value]
    array = np.array(value)
    name = array.dtype.name
    if array.dtype.kind == "V" and name in {
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    }:
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return torch.from_numpy(raw.copy()).view(getattr(torch, name)).reshape(array.shape)
    return torch.from_numpy(array)


def array(value):
    if value is None or isinstance(value, (list, tuple)):
        return None if value is None else [array(one) for one in value]
    value = value.detach().contiguous()
    if value.dtype == torch.bfloat16 or "float8" in str(value.dtype):
        import ml_dtypes  # noqa: PLC0415

        kind = getattr(ml_dtypes, str(value.dtype).removeprefix("torch."))
        return value.reshape(-1).view(torch.uint8).numpy().view(kind).reshape(value.shape)
    return value.numpy()


def by_onnxruntime(model):
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs, strict=False)))


def ours(library):
    sys.path.insert(0, str(WORKERS))
    write = importlib.import_module("onnx_to_torch.write").write

    def make(model):
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                write(model, folder, library)
            sys.path.insert(0, folder)
            try:
                for name in ("model", "operators"):
                    sys.modules.pop(name, None)
                module = importlib.import_module("model").load()
            finally:
                sys.path.remove(folder)
        return lambda inputs: [array(one) for one in module(*(tensor(one) for one in inputs))]

    return make


def by_onnx2torch(model):
    if "torchvision" not in sys.modules:  # only its NonMaxSuppression and RoiAlign call it; they fail when they do
        stub, ops = types.ModuleType("torchvision"), types.ModuleType("torchvision.ops")
        stub.ops, ops.roi_align = ops, None
        sys.modules.update({"torchvision": stub, "torchvision.ops": ops})
    module = importlib.import_module("onnx2torch").convert(model).eval()

    def call(inputs):
        found = module(*(tensor(one) for one in inputs))
        return [array(one) for one in (found if isinstance(found, (list, tuple)) else [found])]

    return call


def passes(make, test):
    try:
        call = make(test.model)
        with torch.no_grad():
            for inputs, outputs in test.data_sets:
                found = call(inputs)
                if len(found) != len(outputs):
                    return f"{len(found)} outputs instead of {len(outputs)}"
                for expected, one in zip(outputs, found, strict=True):
                    if not same(expected, one, test.rtol, test.atol):
                        return f"other numbers, e.g. {np.asarray(one).dtype} {np.asarray(one).shape}"
    except BaseException as fault:
        if isinstance(fault, KeyboardInterrupt):
            raise
        return f"{type(fault).__name__}: {str(fault)[:300]}"
    return ""


def page(tests, count, good, other, missing, failed):
    import onnxruntime  # noqa: PLC0415

    rest = [f"- `{name}`: {why.splitlines()[0][:100]}" for name, why in failed if "no torch function" not in why]
    return f"""# ONNX to PyTorch, measured

Written by `just onnx-to-torch PYTHON --write docs/guides/onnx-to-torch.md`; do not edit.

The node tests of onnx {onnx.__version__} ({tests}), each under its own tolerance, on a CPU with torch {torch.__version__}.

| passes | tests | of onnxruntime's |
|---|---|---|
| onnxruntime {onnxruntime.__version__} | {count} | 100 % |
| our writer | {good} | {good / count:.1%} |
| onnx2torch alone | {other} | {other / count:.1%} |

onnx2torch gets the tests as they are, most of them in newer opsets than it knows and with weights as inputs, and stands
without torchvision, which its NonMaxSuppression and RoiAlign call. Its figure says nothing of trained networks in old opsets.

Operators of these tests without a torch function, and the number of tests:
{", ".join(f"{n} {k}" for n, k in missing.most_common())}.

A model with one of them is refused, and every such node is named. An operator that ONNX itself defines as a function is
written out, so most forms of Attention are covered. Strings and types of four bits and less have no tensor in torch.

Other tests that onnxruntime passes and the writer does not:

{chr(10).join(rest)}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="tests whose name holds this")
    parser.add_argument("--ours", action="store_true", help="leave onnx2torch out")
    parser.add_argument("--verbose", action="store_true", help="every test of onnxruntime's that ours does not pass")
    parser.add_argument("--write", type=Path, help="the page of the documentation that the figures stand in")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sys.path.insert(0, str(WORKERS))
    library = importlib.import_module("onnx_to_torch.library").Library()
    loader = importlib.import_module("onnx.backend.test.loader")
    with contextlib.redirect_stderr(io.StringIO()):
        tests = [one for one in loader.load_model_tests(kind="node") if options.only in one.name]
    tests = [one for one in tests if one.data_sets]
    reference = [one for one in tests if not passes(by_onnxruntime, one)]
    write, failed, other = ours(library), [], 0
    for test in reference:
        why = passes(write, test)
        if why:
            failed.append((test.name, why))
        if not options.ours:
            other += not passes(by_onnx2torch, test)
    count = len(reference)
    good = count - len(failed)
    if options.verbose:
        for name, why in failed:
            print(f"{name}: {why}")
    print(f"node tests of onnx {onnx.__version__}: {len(tests)}; onnxruntime passes {count}")
    print(f"of these ours {good} ({good / max(1, count):.1%}); onnx2torch {'not run' if options.ours else other}")
    missing = collections.Counter(
        why.split("ai.onnx.")[1].split()[0] for _, why in failed if "no torch function" in why and "ai.onnx." in why
    )
    print("no torch function:", ", ".join(f"{name} {number}" for name, number in missing.most_common()))
    if options.write and not options.ours and not options.only:
        options.write.write_text(page(len(tests), count, good, other, missing, failed))
    return 0 if good >= FLOOR * count and (options.ours or good > other) else 1


if __name__ == "__main__":
    sys.exit(main())
