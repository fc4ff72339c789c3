"""Sparse and ragged tensors: a few dense ones under one name, which cross one by one.

A COO tensor is its indices [stored, dims] and values [stored]; a CSR matrix its row starts [rows + 1], columns and values; a
ragged one its values and row starts. `opened` takes one apart, `MAKERS` puts it together in another framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainyard.tensors.errors import TensorError

COO, CSR, RAGGED = "COO", "CSR", "ragged"
PLACES = frozenset({"indices", "starts", "columns"})
"""Parts that say where values are: whole numbers, whatever dtype is asked for."""


@dataclass(frozen=True, slots=True)
class Composite:
    kind: str
    parts: Mapping[str, Any]
    """Tensors of the same framework."""
    shape: tuple[int, ...] = ()
    padded: bool = False
    """Places outside of its shape stand for nothing."""


def opened(x: Any) -> Composite | None:
    """None: it is no such tensor. Raises TensorError for one that has no such parts."""
    kind = type(x)
    opener = OPENERS.get(kind.__name__) if str(kind.__module__).partition(".")[0] in _PACKAGES else None
    return None if opener is None else opener(x)


def _torch(x: Any) -> Composite | None:
    layout = str(getattr(x, "layout", ""))
    if getattr(x, "is_nested", False) is True:
        if layout != "torch.jagged":
            words = "it is nested without one block of memory"
            raise TensorError(f"{words}: torch.nested.nested_tensor(…, layout=torch.jagged) has one")
        if x.lengths() is not None:
            raise TensorError("its rows lie apart, since it is a part of another: x.contiguous() has them together")
        if type(x.shape[1]) is not int and all(type(dim) is int for dim in x.shape[2:]):
            return Composite(RAGGED, {"values": x.values(), "starts": x.offsets()})
        raise TensorError("its ragged dimension is not the second, as elsewhere: transpose it")
    if layout == "torch.sparse_coo":
        whole = x.coalesce()
        return Composite(COO, {"indices": whole.indices().t(), "values": whole.values()}, tuple(x.shape))
    if layout == "torch.sparse_csr":
        parts = {"starts": x.crow_indices(), "columns": x.col_indices(), "values": x.values()}
        return Composite(CSR, parts, tuple(x.shape))
    return None


def _paddle_or_torch(x: Any) -> Composite | None:
    if not type(x).__module__.startswith("paddle"):
        return _torch(x)
    if x.is_sparse_coo():
        whole = x.coalesce()
        return Composite(COO, {"indices": whole.indices().t(), "values": whole.values()}, tuple(x.shape))
    if x.is_sparse_csr():
        return Composite(CSR, {"starts": x.crows(), "columns": x.cols(), "values": x.values()}, tuple(x.shape))
    return None


def _bcoo(x: Any) -> Composite:
    if x.n_batch or x.n_dense:
        raise TensorError("it has batch or dense dimensions, which no other framework has: x.todense()")
    return Composite(COO, {"indices": x.indices, "values": x.data}, tuple(x.shape), padded=True)


def _bcsr(x: Any) -> Composite:
    if x.n_batch or x.n_dense:
        raise TensorError("it has batch or dense dimensions, which no other framework has: x.todense()")
    return Composite(CSR, {"starts": x.indptr, "columns": x.indices, "values": x.data}, tuple(x.shape))


def _tf_sparse(x: Any) -> Composite:
    return Composite(COO, {"indices": x.indices, "values": x.values}, tuple(x.shape))


def _tf_ragged(x: Any) -> Composite:
    if x.ragged_rank != 1:
        raise TensorError(
            f"it is ragged in {x.ragged_rank} dimensions, one can cross: x.merge_dims(1, 2), or x.to_tensor()"
        )
    return Composite(RAGGED, {"values": x.values, "starts": x.row_splits})


def _scipy_coo(x: Any) -> Composite:
    import numpy as np  # noqa: PLC0415

    places = getattr(x, "coords", None) or (x.row, x.col)
    return Composite(COO, {"indices": np.stack(places, axis=1).astype(np.int64), "values": x.data}, x.shape)


def _scipy_csr(x: Any) -> Composite:
    return Composite(CSR, {"starts": x.indptr, "columns": x.indices, "values": x.data}, x.shape)


def _arrow_coo(x: Any) -> Composite:
    values, indices = x.to_numpy()
    return Composite(COO, {"indices": indices, "values": values.reshape(-1)}, tuple(x.shape))


def _arrow_csr(x: Any) -> Composite:
    values, starts, columns = x.to_numpy()
    parts = {"starts": starts.reshape(-1), "columns": columns.reshape(-1), "values": values.reshape(-1)}
    return Composite(CSR, parts, tuple(x.shape))


def _arrow_list(x: Any) -> Composite:
    if x.null_count:
        raise TensorError(f"{x.null_count} of its lists are missing: x.drop_null()")
    return Composite(RAGGED, {"values": x.flatten(), "starts": _from_zero(x.offsets)})


def _from_zero(offsets: Any) -> Any:
    import pyarrow.compute as pc  # noqa: PLC0415

    return offsets if offsets[0].as_py() == 0 else pc.subtract(offsets, offsets[0])


OPENERS: dict[str, Callable[[Any], Composite | None]] = {
    "Tensor": _paddle_or_torch, "NestedTensor": _torch, "BCOO": _bcoo, "BCSR": _bcsr, "SparseTensor": _tf_sparse,
    "RaggedTensor": _tf_ragged, "coo_array": _scipy_coo, "coo_matrix": _scipy_coo, "csr_array": _scipy_csr,
    "csr_matrix": _scipy_csr, "SparseCOOTensor": _arrow_coo, "SparseCSRMatrix": _arrow_csr, "ListArray": _arrow_list,
    "LargeListArray": _arrow_list,
}  # fmt: skip
"""By the name of its type, so that no framework is imported to ask."""
_PACKAGES = frozenset({"torch", "paddle", "jax", "tensorflow", "scipy", "pyarrow"})
"""Where such a type comes from; others have types of these names too."""
