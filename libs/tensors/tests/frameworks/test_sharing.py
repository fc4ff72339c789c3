"""The frameworks themselves: every pair, type and layout, and the eight ways in which they crash or lie.

Run by `just tensors PYTHON` in an environment that has all of them; Paddle is imported first, since it crashes after
TensorFlow.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.frameworks
PYTHON = os.environ.get("TRAINYARD_TENSORS_PYTHON", "")
ROOT = Path(__file__).resolve().parents[4]
SOURCES = ROOT / "libs" / "tensors" / "src"
HEAD = """
import paddle, jax, gc, numpy as np, tensorflow as tf, torch, pyarrow as pa
from trainyard.tensors import CannotShare, TensorError, convert_framework_tensor as convert
from trainyard.tensors.bridges.numpy import empty
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: much of this ends the process where it goes wrong."""
    if not PYTHON:
        pytest.skip("TRAINYARD_TENSORS_PYTHON names no interpreter with the frameworks (just tensors PYTHON)")
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [PYTHON, "-c", HEAD + code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)


def holds(code: str) -> None:
    done = run(code + "\nprint('held')")
    assert done.stdout.endswith("held\n"), done.stderr[-2000:]


def test_what_was_measured_is_measured_again() -> None:
    if not PYTHON:
        pytest.skip("TRAINYARD_TENSORS_PYTHON names no interpreter with the frameworks (just tensors PYTHON)")
    sys.path.insert(0, str(ROOT / "tools"))
    import generate_tensors  # noqa: PLC0415

    def told(text: str) -> list[Any]:
        return [json.loads(line) for line in text.splitlines()[1:]]

    known = told(generate_tensors.LINES.read_text())
    again = told(generate_tensors.measure(PYTHON))
    assert again
    assert [line for line in again if line not in known] == []


def test_tensorflow_computes_on_what_was_not_aligned() -> None:
    """Given as it is, it would end the process."""
    holds("""
room = empty((4097,), np.dtype("float32")); x = room[1:]; x[...] = 2
assert float(tf.reduce_sum(tf.linalg.matmul(*[tf.reshape(convert(x, "tensorflow"), (64, 64))] * 2))) == 64 ** 3 * 4
""")


def test_negative_strides_do_not_end_the_process() -> None:
    holds('assert convert(np.arange(5)[::-1], "torch").tolist() == [4, 3, 2, 1, 0]')


def test_read_only_memory_is_not_written_through_torch() -> None:
    holds("""
x = empty((8,), np.dtype("float32")); x[...] = 1; x.flags.writeable = False
y = convert(x, "torch"); y += 1
assert x.tolist() == [1] * 8
assert convert(x, "torch", copy=False).data_ptr() == x.ctypes.data
for name in ("jax", "tensorflow"):
    y, told = convert(x, name, explain=True)
    assert told.zero_copy
""")


def test_jax_truncates_nothing_in_silence() -> None:
    holds("""
x = empty((4,), np.dtype("int64")); x[...] = 2 ** 40
try: convert(x, "jax")
except TensorError as error: assert "JAX would silently make int32 of int64" in str(error), error
else: raise SystemExit("it did")
assert str(convert(x // 2 ** 20, "jax", dtype="int32").dtype) == "int32"
jax.config.update("jax_enable_x64", True)
assert int(convert(x, "jax")[0]) == 2 ** 40
""")


def test_gradients_and_conjugates() -> None:
    holds("""
for x in (torch.ones(3, requires_grad=True), paddle.to_tensor([1.0], stop_gradient=False)):
    try: convert(x, "numpy")
    except TensorError as error: assert "detach()" in str(error), error
    else: raise SystemExit("a gradient crossed")
    assert convert(x.detach(), "numpy").tolist()[0] == 1
y, told = convert(torch.tensor([1 + 2j]).conj(), "numpy", explain=True)
assert y.tolist() == [1 - 2j] and told.reasons == ("torch has yet to conjugate it",), told
""")


def test_what_has_no_memory_to_share() -> None:
    holds("""
def refused(x, words):
    try: convert(x, "numpy")
    except TensorError as error: assert words in str(error), error
    else: raise SystemExit(words)
refused(torch.eye(4).to_sparse_bsr((2, 2)), "to_dense")
refused(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), "layout=torch.jagged")
refused(torch.empty(3, device="meta"), "has a shape and no values")
refused(tf.IndexedSlices(tf.ones(1), tf.constant([0])), "tf.convert_to_tensor(x)")
refused(tf.ragged.constant([[1], [1, 2]]), "numpy has no ragged tensors that others give: torch, tensorflow, arrow have")
refused(tf.ragged.constant([[[1], [2]], [[1, 2]]]), "ragged in 2 dimensions")
refused(tf.constant("a"), "no element type")
refused(tf.keras.Input((3,)), "is no tensor")
tf.function(lambda x: refused(x, "belongs to a graph"))(tf.ones(3))
jax.jit(lambda x: [refused(x, "JAX is tracing it"), x][1])(jax.numpy.ones(3))
assert convert(tf.Variable([1.0, 2.0]), "torch").tolist() == [1, 2]
assert convert(torch.nn.Linear(2, 2).state_dict(), "numpy")["weight"].shape == (2, 2)
""")


def test_the_memory_lives_as_long_as_the_last_who_uses_it() -> None:
    holds("""
jax.config.update("jax_enable_x64", True)
names = ["numpy", "arrow", "torch", "tensorflow", "jax", "paddle"]
for source in names:
    for target in names:
        x = empty((1000, 100), np.dtype("float64")); x[...] = 7
        y = convert(convert(x, source), target, copy=None)
        del x
        gc.collect()
        for _ in range(3): empty((1000, 100), np.dtype("float64"))[...] = -1
        assert (convert(y, "numpy") == 7).all(), (source, target)
""")


def test_ten_thousand_small_tensors_leak_nothing() -> None:
    holds("""
import resource
tree = {str(at): convert(np.full((16,), at, np.float32), "torch", copy=True) for at in range(1000)}
def once():
    for name in ("jax", "tensorflow", "paddle", "arrow", "numpy"): convert(tree, name)
for _ in range(3): once()
before = int(open("/proc/self/statm").read().split()[1])
for _ in range(10): once()
grown = (int(open("/proc/self/statm").read().split()[1]) - before) * resource.getpagesize()
assert grown < 16 * 2 ** 20, grown
""")


def test_the_largest_are_shared_too() -> None:
    """More than 2³¹ elements."""
    holds("""
x = torch.zeros(2 ** 31 + 8, dtype=torch.int8); x[-1] = 5
for name in ("numpy", "jax", "tensorflow", "paddle", "arrow"):
    y, told = convert(x, name, copy=False, explain=True)
    assert told.zero_copy, told
    back = convert(y, "torch", copy=False)
    assert back.shape[0] == 2 ** 31 + 8 and int(back[-1]) == 5, name
""")


def test_casts_and_wishes() -> None:
    holds("""
x = torch.arange(6.0).reshape(2, 3)
for name in ("jax", "tensorflow", "paddle", "arrow"):
    y, told = convert(x, name, dtype=torch.float16, explain=True)
    assert told.reasons == ("float32 has to become float16",) and told.bytes_moved == 12, told
    back = convert(y, "torch", dtype="float32")
    assert torch.equal(back, x), name
assert convert(np.float32([1, 2]), "torch", dtype="bfloat16").dtype == torch.bfloat16
for name in ("numpy", "jax", "tensorflow", "paddle"):
    try: convert(np.ones((4, 4), np.float32)[::-1], name if name != "numpy" else "torch", copy=False)
    except CannotShare: pass
    else: raise SystemExit(name)
gc.collect()
""")


def test_files_are_mapped_into_every_framework(tmp_path: Path) -> None:
    holds(f"""
from pathlib import Path
from trainyard.tensors.files import load, save
x = torch.arange(512 * 6.0).reshape(512, 6)
for ending in ("arrow", "npy"):
    save(Path({str(tmp_path)!r}) / f"x.{{ending}}", {{"x": x}})
    for name in ("jax", "tensorflow", "torch", "paddle", "numpy"):
        y = load(Path({str(tmp_path)!r}) / f"x.{{ending}}", to=name, copy=False)["x"]
        assert torch.equal(convert(y, "torch", copy=True), x), (ending, name)
weights = {{"w": torch.ones(3, 2, dtype=torch.bfloat16), "b": torch.ones(())}}
save(Path({str(tmp_path)!r}) / "x.safetensors", weights)
back = load(Path({str(tmp_path)!r}) / "x.safetensors", to="torch")
assert back["w"].dtype == torch.bfloat16 and torch.equal(back["w"], weights["w"]) and back["b"].shape == ()
""")


def test_sparse_tensors_cross_part_by_part() -> None:
    """From every framework into every other, with the values over the same memory where they can be."""
    holds("""
jax.config.update("jax_enable_x64", True)
import scipy.sparse
dense = np.zeros((40, 30)); dense[::7, ::3] = np.arange(60).reshape(6, 10)[:, :10] + 1
DENSE = {
    "numpy": lambda x: x.toarray(), "arrow": lambda x: x.to_tensor().to_numpy(), "torch": lambda x: x.to_dense().numpy(),
    "tensorflow": lambda x: tf.sparse.to_dense(x).numpy(), "jax": lambda x: np.asarray(x.todense()),
    "paddle": lambda x: x.to_dense().numpy(),
}
for kind, first in (("COO", torch.tensor(dense).to_sparse()), ("CSR", torch.tensor(dense).to_sparse_csr())):
    for source in DENSE:
        for target in DENSE:
            if kind == "CSR" and "tensorflow" in (source, target):
                continue
            x = convert(first, source)
            y, told = convert(x, target, explain=True)
            assert np.array_equal(DENSE[target](y), dense), (kind, source, target)
            assert set(told) == ({"indices", "values"} if kind == "COO" else {"starts", "columns", "values"})
            if source == "torch" and target in ("jax", "tensorflow"):
                assert told["values"].zero_copy, told
half = convert(torch.tensor(dense).to_sparse(), "tensorflow", dtype="float16")
assert half.values.dtype == tf.float16 and half.indices.dtype == tf.int64
try: convert(torch.tensor(dense).to_sparse_csr(), "tensorflow")
except TensorError as error: assert "tensorflow has no CSR tensors that others give" in str(error)
else: raise SystemExit("CSR")
""")


def test_indices_of_sparse_tensors_are_narrowed_for_jax_without_64_bits() -> None:
    holds("""
y, told = convert({"a": torch.eye(3).to_sparse()}, "jax", explain=True)
assert str(y["a"].indices.dtype) == "int32" and told["a"]["indices"].reasons[0] == "int64 has to become int32"
assert np.array_equal(y["a"].todense(), np.eye(3))
""")


def test_ragged_tensors() -> None:
    holds("""
rows = [[1.0], [], [2.0, 3.0, 4.0]]
first = tf.ragged.constant(rows)
for source in ("tensorflow", "torch", "arrow"):
    for target in ("tensorflow", "torch", "arrow"):
        y = convert(convert(first, source), target)
        back = convert(y, "arrow").to_pylist()
        assert back == rows, (source, target, back)
assert convert(pa.array([[9.0], *rows], pa.list_(pa.float32())).slice(1), "torch").offsets().tolist() == [0, 1, 1, 4]
""")


def test_places_out_of_order_twice_or_outside_give_the_same_numbers_everywhere() -> None:
    """JAX fills up with places outside and SciPy keeps some twice: PyTorch and Arrow would write past their memory for the
    ones, and take the last value of the others."""
    holds("""
import scipy.sparse
from jax.experimental.sparse import BCOO, BCSR
wanted = np.float32([[0, 3, 0], [4, 0, 0]])
twice = (np.float32([4, 1, 2]), ([1, 0, 0], [0, 1, 1]))
sources = {
    "twice": scipy.sparse.coo_array(twice, (2, 3)), "rows": scipy.sparse.csr_array((2, 3), dtype="f4"),
    "padded": BCOO.fromdense(jax.numpy.array(wanted), nse=6), "rows padded": BCSR.fromdense(jax.numpy.array(wanted), nse=6),
    "unsorted": tf.SparseTensor([[1, 0], [0, 1]], [4.0, 3.0], (2, 3)),
}
sources["rows"] = scipy.sparse.csr_array((np.float32([2, 1, 4]), [1, 1, 0], [0, 2, 3]), (2, 3))
for name, x in sources.items():
    y, told = convert(x, "torch", explain=True)
    assert np.array_equal(y.to_dense(), wanted) and told["values"].reasons, (name, y, told)
    if "rows" not in name:
        assert y.is_coalesced() and y.values().tolist() == [3, 4], (name, y)
        assert name == "unsorted" or np.array_equal(tf.sparse.to_dense(convert(x, "tensorflow")), wanted), name
    assert np.array_equal(convert(x, "arrow").to_tensor().to_numpy(), wanted), name
try: convert(sources["twice"], "torch", copy=False)
except CannotShare as error: assert "its places had to be put in order" in str(error)
else: raise SystemExit("copied")
""")


def test_sparse_and_ragged_tensors_that_another_framework_has_not_are_refused() -> None:
    holds("""
def refused(x, to, words):
    try: convert(x, to)
    except TensorError as error: assert words in str(error), error
    else: raise SystemExit(words)
dense_rows = torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (2, 3))
for target in ("arrow", "numpy", "tensorflow", "paddle"):
    refused(dense_rows, target, f"1 of its 2 dimensions are dense, which {target} has not")
assert convert(dense_rows, "jax").n_dense == 1
refused(torch.eye(2, dtype=torch.bfloat16).to_sparse(), "numpy", "numpy does not take this COO tensor: scipy.sparse does not")
refused(torch.stack([torch.eye(3)] * 2).to_sparse_csr(), "numpy", "CSR of 3 dimensions, two can cross")
ragged = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(4, 3)], layout=torch.jagged)
assert convert(convert(ragged, "arrow"), "tensorflow").shape.as_list() == [2, None, 3]
refused(ragged.transpose(1, 2), "tensorflow", "its ragged dimension is not the second")
starts, lengths = torch.tensor([0, 1, 2]), torch.tensor([2, 3, 1])
part = torch.nested.narrow(torch.arange(15.0).reshape(3, 5), 1, starts, lengths, layout=torch.jagged)
refused(part, "tensorflow", "its rows lie apart")
assert convert(part.contiguous(), "arrow").to_pylist() == [[0, 1], [6, 7, 8], [12]]
class BCOO: pass
kept = BCOO()
assert convert({"x": torch.ones(1), "own": kept}, "numpy")["own"] is kept, "a class of that name is no tensor"
""")
