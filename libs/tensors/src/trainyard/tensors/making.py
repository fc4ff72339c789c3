"""Puts sparse and ragged tensors together in the framework that their parts have come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trainyard.tensors.composites import COO, CSR, RAGGED, Composite
from trainyard.tensors.errors import TensorError

Make = Callable[[Mapping[str, Any], tuple[int, ...]], Any]
HOMES = {"arrow": "numpy"}
"""Where parts go, if not to the framework itself: Arrow's sparse tensors are made of NumPy's arrays."""
_HYBRID = frozenset({"torch", "jax"})
"""Their values may be tensors of their own."""


def possible(framework: str, kind: str) -> None:
    """Raises TensorError."""
    if (framework, kind) not in MAKERS:
        able = ", ".join(name for name, known in MAKERS if known == kind)
        raise TensorError(f"{framework} has no {kind} tensors that others give: {able} have, or make it dense")


def made(framework: str, composite: Composite, parts: Mapping[str, Any]) -> Any:
    """Raises TensorError, also for what the framework itself does not take."""
    dense = len(parts["values"].shape) - 1
    if dense and composite.kind == COO and framework not in _HYBRID:
        raise TensorError(
            f"{dense} of its {len(composite.shape)} dimensions are dense, which {framework} has not: make it dense"
        )
    try:
        return MAKERS[framework, composite.kind](parts, composite.shape)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:  # Arrow's errors are of these
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise TensorError(f"{framework} does not take this {composite.kind} tensor: {line}") from error


def _torch_coo(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import torch  # noqa: PLC0415

    return torch.sparse_coo_tensor(
        parts["indices"].t(), parts["values"], shape, is_coalesced=True, check_invariants=False
    )


def _torch_csr(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import torch  # noqa: PLC0415

    return torch.sparse_csr_tensor(parts["starts"], parts["columns"], parts["values"], shape, check_invariants=False)


def _torch_ragged(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import torch  # noqa: PLC0415

    return torch.nested.nested_tensor_from_jagged(parts["values"], parts["starts"].long())


def _jax_coo(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    from jax.experimental.sparse import BCOO  # noqa: PLC0415

    return BCOO((parts["values"], parts["indices"]), shape=shape)


def _jax_csr(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    from jax.experimental.sparse import BCSR  # noqa: PLC0415

    return BCSR((parts["values"], parts["columns"], parts["starts"]), shape=shape)


def _tensorflow_coo(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    return tf.SparseTensor(tf.cast(parts["indices"], tf.int64), parts["values"], shape)


def _tensorflow_ragged(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    return tf.RaggedTensor.from_row_splits(parts["values"], parts["starts"], validate=False)


def _paddle_coo(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import paddle  # noqa: PLC0415

    return paddle.sparse.sparse_coo_tensor(parts["indices"].t().contiguous(), parts["values"], shape)


def _paddle_csr(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import paddle  # noqa: PLC0415

    return paddle.sparse.sparse_csr_tensor(parts["starts"], parts["columns"], parts["values"], shape)


def _scipy_coo(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    if len(shape) != 2:
        raise TensorError(f"SciPy's sparse arrays have two dimensions here, not {len(shape)}")
    indices = parts["indices"]
    return _scipy().coo_array((parts["values"], (indices[:, 0], indices[:, 1])), shape)


def _scipy_csr(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    return _scipy().csr_array((parts["values"], parts["columns"], parts["starts"]), shape)


def _scipy() -> Any:
    try:
        import scipy.sparse  # noqa: PLC0415
    except ImportError:
        raise TensorError("NumPy has no sparse arrays of its own: pip install scipy, or make it dense") from None
    return scipy.sparse


def _arrow_coo(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    indices = np.ascontiguousarray(parts["indices"])
    return pa.SparseCOOTensor.from_numpy(parts["values"].reshape(-1, 1), indices, shape)


def _arrow_csr(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.SparseCSRMatrix.from_numpy(parts["values"].reshape(-1, 1), parts["starts"], parts["columns"], shape)


def _arrow_ragged(parts: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    starts = parts["starts"]
    kind = pa.ListArray if starts.dtype.itemsize == 4 else pa.LargeListArray
    return kind.from_arrays(pa.array(starts), _rows(parts["values"]))


def _rows(values: Any) -> Any:
    """A column of numbers, or of tensors."""
    from trainyard.tensors.bridges import arrow, numpy  # noqa: PLC0415

    return arrow.take(numpy.give(values), numpy.facts(values))


MAKERS: dict[tuple[str, str], Make] = {
    ("torch", COO): _torch_coo, ("torch", CSR): _torch_csr, ("torch", RAGGED): _torch_ragged,
    ("jax", COO): _jax_coo, ("jax", CSR): _jax_csr,
    ("tensorflow", COO): _tensorflow_coo, ("tensorflow", RAGGED): _tensorflow_ragged,
    ("paddle", COO): _paddle_coo, ("paddle", CSR): _paddle_csr,
    ("numpy", COO): _scipy_coo, ("numpy", CSR): _scipy_csr,
    ("arrow", COO): _arrow_coo, ("arrow", CSR): _arrow_csr, ("arrow", RAGGED): _arrow_ragged,
}  # fmt: skip
