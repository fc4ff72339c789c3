"""MindSpore, on a CPU; Ascend was never seen. Its own DLPack ends the process on capsules without strides, as those of NumPy
are, so memory goes by `from_numpy` and `asnumpy`."""

from __future__ import annotations

from typing import Any

from trainyard.tensors.bridges import numpy as host
from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import PLAIN, SIZES, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TRAITS = Traits("mindspore", PLAIN, strided=False, protocol="NumPy")


def traits() -> Traits:
    import mindspore  # noqa: F401, PLC0415

    return _TRAITS


def owns(kind: type) -> bool:
    import mindspore  # noqa: PLC0415

    return issubclass(kind, mindspore.Tensor)


def facts(x: Any) -> Facts:
    import mindspore  # noqa: PLC0415

    if not isinstance(x, mindspore.Tensor):
        raise TensorError(f"a {type(x).__name__} has no one block of memory: x.to_dense() has")
    if str(x.device) != "CPU":
        raise TensorError(f"it lies on {x.device}, which was never tried: x.move_to('CPU')")
    dtype = name_of(str(x.dtype))
    if dtype not in PLAIN:
        raise TensorError(f"MindSpore gives no {dtype} to others: x.astype(mindspore.float32)")
    strides = None if x.is_contiguous() else tuple(stride // SIZES[dtype] for stride in x.strides)
    return Facts("mindspore", dtype, tuple(x.shape), strides, x.data_ptr())


def give(x: Any) -> Carrier:
    return host.give(x.asnumpy())


def take(carrier: Carrier, facts: Facts) -> Any:
    import mindspore  # noqa: PLC0415

    return mindspore.from_numpy(host.take(carrier, facts._replace(read_only=False, immutable=False)))


def pointer(x: Any) -> int:
    return int(x.data_ptr())


def copy(x: Any, dtype: str) -> Any:
    """A NumPy array: MindSpore's own memory need not be at a multiple of 64 bytes."""
    return host.copy(x.contiguous().asnumpy(), dtype)


def cast(x: Any, dtype: str) -> Any:
    import mindspore  # noqa: PLC0415

    return x.astype(getattr(mindspore, dtype)).contiguous()


def move(x: Any, device: str) -> Any:
    return x
