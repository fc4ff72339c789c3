"""CuPy. Untested: no GPU was seen."""

from __future__ import annotations

from typing import Any

from trainyard.tensors import capsules
from trainyard.tensors.bridges import numpy as host
from trainyard.tensors.capsules import CPU, Carrier
from trainyard.tensors.dtypes import PLAIN, name_of
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TRAITS = Traits("cupy", PLAIN, devices=frozenset({"cuda"}))


def traits() -> Traits:
    import cupy  # noqa: F401, PLC0415

    return _TRAITS


def owns(kind: type) -> bool:
    import cupy  # noqa: PLC0415

    return issubclass(kind, cupy.ndarray)


def facts(x: Any) -> Facts:
    dtype = name_of(x.dtype)
    strides = tuple(stride // x.itemsize for stride in x.strides)
    return Facts("cupy", dtype, tuple(x.shape), strides, x.data.ptr, f"cuda:{x.device.id}")


def give(x: Any) -> Carrier:
    return capsules.of(x, name_of(x.dtype))


def take(carrier: Carrier, facts: Facts) -> Any:
    import cupy  # noqa: PLC0415

    return cupy.asarray(host.take(carrier, facts)) if carrier.device == CPU else cupy.from_dlpack(carrier)


def pointer(x: Any) -> int:
    return int(x.data.ptr)


def copy(x: Any, dtype: str) -> Any:
    import cupy  # noqa: PLC0415

    return cupy.array(x, dtype=dtype, copy=True, order="C")


def cast(x: Any, dtype: str) -> Any:
    return x.astype(dtype)


def move(x: Any, device: str) -> Any:
    """Off the GPU it is a NumPy array."""
    import cupy  # noqa: PLC0415

    if device == "cpu":
        return cupy.asnumpy(x)
    with cupy.cuda.Device(int(device.partition(":")[2] or 0)):
        return cupy.asarray(x)
