"""MXNet 1.9, the last there is, on a CPU. It computes behind one's back: values are waited for before they are given."""

from __future__ import annotations

import ctypes
from typing import Any

from trainyard.tensors.bridges import numpy as host
from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TRAITS = Traits("mxnet", frozenset({"uint8", "int32", "int64", "float16", "float32", "float64"}), strided=False)


def traits() -> Traits:
    import mxnet  # noqa: F401, PLC0415

    return _TRAITS


def owns(kind: type) -> bool:
    import mxnet  # noqa: PLC0415

    return issubclass(kind, mxnet.nd.NDArray)


def facts(x: Any) -> Facts:
    if x.stype != "default":
        raise TensorError(f"it is {x.stype}, which has no one block of memory: x.tostype('default') has")
    if x.context.device_type != "cpu":
        raise TensorError(f"it lies on {x.context}, which was never tried: x.as_in_context(mxnet.cpu())")
    return Facts("mxnet", name_of(x.dtype), tuple(x.shape), None, pointer(x))


def give(x: Any) -> Carrier:
    x.wait_to_read()
    return Carrier(lambda stream: x.to_dlpack_for_write(), name_of(x.dtype))


def take(carrier: Carrier, facts: Facts) -> Any:
    import mxnet  # noqa: PLC0415

    if not facts.bytes or not facts.shape:
        raise TensorError("MXNet has neither empty tensors nor single values: x.reshape(1)")
    array = host.take(carrier, facts._replace(read_only=False, immutable=False))
    return mxnet.nd.from_numpy(array, zero_copy=True)  # its from_dlpack lets NumPy's memory go without Python's lock


def pointer(x: Any) -> int:
    """Asked of its C API: a DLPack capsule of MXNet's that nobody takes ends the process."""
    from mxnet.base import _LIB, check_call  # noqa: PLC0415

    address = ctypes.c_void_p()
    check_call(_LIB.MXNDArrayGetData(x.handle, ctypes.byref(address)))
    return address.value or 0


def copy(x: Any, dtype: str) -> Any:
    """A NumPy array: MXNet's own memory need not be at a multiple of 64 bytes."""
    return host.copy(x.asnumpy(), dtype)


def cast(x: Any, dtype: str) -> Any:
    return x.astype(dtype)


def move(x: Any, device: str) -> Any:
    return x
