"""PyTorch."""

from __future__ import annotations

from typing import Any

from trainyard.tensors import capsules
from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import SIZES, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TRAITS = Traits("torch", frozenset(SIZES), devices=frozenset({"cpu", "cuda"}))


def traits() -> Traits:
    return _TRAITS


def owns(kind: type) -> bool:
    import torch  # noqa: PLC0415

    return issubclass(kind, torch.Tensor)


def facts(x: Any) -> Facts:
    import torch  # noqa: PLC0415

    if x.layout != torch.strided or x.is_nested:
        raise TensorError(
            f"it is {'nested' if x.is_nested else x.layout}, which has no one block of memory: {_dense(x)}"
        )
    if x.requires_grad:
        raise TensorError("a gradient hangs on it, which other frameworks cannot follow: x.detach() lets it go")
    if x.device.type == "meta" or type(x).__name__ == "FakeTensor":
        raise TensorError("it has a shape and no values (device meta)")
    pending = "torch has yet to conjugate it" if x.is_conj() else "torch has yet to negate it" if x.is_neg() else ""
    strides = None if x.is_contiguous() else x.stride()
    return Facts("torch", name_of(x.dtype), tuple(x.shape), strides, x.data_ptr(), str(x.device), pending=pending)


def _dense(x: Any) -> str:
    return "convert its tensors one by one (x.unbind())" if x.is_nested else "x.to_dense() has"


def give(x: Any) -> Carrier:
    return capsules.of(x, name_of(x.dtype))


def take(carrier: Carrier, facts: Facts) -> Any:
    import torch  # noqa: PLC0415

    return torch.from_dlpack(carrier)


def pointer(x: Any) -> int:
    return int(x.data_ptr())


def copy(x: Any, dtype: str) -> Any:
    import torch  # noqa: PLC0415

    resolved = x.resolve_conj().resolve_neg()
    return resolved.to(dtype=getattr(torch, dtype), copy=True, memory_format=torch.contiguous_format)


def cast(x: Any, dtype: str) -> Any:
    import torch  # noqa: PLC0415

    return x.to(getattr(torch, dtype))


def move(x: Any, device: str) -> Any:
    return x.to(device)
