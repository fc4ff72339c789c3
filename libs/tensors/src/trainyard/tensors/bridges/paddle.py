"""PaddlePaddle."""

from __future__ import annotations

from typing import Any

from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import SIZES, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TRAITS = Traits("paddle", frozenset(SIZES) - {"uint16", "uint32", "uint64"}, devices=frozenset({"cpu", "cuda"}))


def traits() -> Traits:
    return _TRAITS


def owns(kind: type) -> bool:
    import paddle  # noqa: PLC0415

    return issubclass(kind, paddle.Tensor)


def facts(x: Any) -> Facts:
    if x.is_sparse():
        raise TensorError("it is sparse, which has no one block of memory: x.to_dense() has")
    if not x.stop_gradient:
        raise TensorError("a gradient hangs on it, which other frameworks cannot follow: x.detach() lets it go")
    place = "cpu" if x.place.is_cpu_place() else f"cuda:{x.place.gpu_device_id()}"
    return Facts("paddle", name_of(x.dtype), tuple(x.shape), tuple(x.strides), x.data_ptr(), place)


def give(x: Any) -> Carrier:
    import paddle  # noqa: PLC0415

    device = (1, 0) if x.place.is_cpu_place() else (2, x.place.gpu_device_id())
    return Carrier(lambda stream: paddle.utils.dlpack.to_dlpack(x), name_of(x.dtype), device)


def take(carrier: Carrier, facts: Facts) -> Any:
    import paddle  # noqa: PLC0415

    return paddle.utils.dlpack.from_dlpack(carrier.__dlpack__())


def pointer(x: Any) -> int:
    return int(x.data_ptr())


def copy(x: Any, dtype: str) -> Any:
    return x.cast(dtype).contiguous() if name_of(x.dtype) != dtype else x.contiguous().clone()


def cast(x: Any, dtype: str) -> Any:
    return x.cast(dtype)


def move(x: Any, device: str) -> Any:
    return x.to(device.replace("cuda", "gpu"))
