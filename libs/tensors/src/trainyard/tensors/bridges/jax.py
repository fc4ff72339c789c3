"""JAX. Its arrays never change; without jax_enable_x64 it has no 64-bit types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trainyard.tensors import capsules
from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import SIZES, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_NARROW = Traits(
    "jax",
    frozenset(SIZES),
    strided=False,
    permuted=True,
    aligned=True,
    writable=False,
    narrow=True,
    devices=frozenset({"cpu", "cuda"}),
)
_WIDE = replace(_NARROW, narrow=False)


def traits() -> Traits:
    import jax  # noqa: PLC0415

    return _WIDE if jax.config.jax_enable_x64 else _NARROW


def owns(kind: type) -> bool:
    import jax  # noqa: PLC0415

    return issubclass(kind, jax.core.Tracer) or hasattr(kind, "unsafe_buffer_pointer")


def facts(x: Any) -> Facts:
    import jax  # noqa: PLC0415

    if isinstance(x, jax.core.Tracer):
        raise TensorError(
            "JAX is tracing it (jit, grad, vmap), so it has no values yet: convert outside of the function"
        )
    if x.is_deleted():
        raise TensorError("the array was donated or deleted")
    if len(x.devices()) > 1:
        raise TensorError(f"it is spread over {len(x.devices())} devices: convert its x.addressable_shards one by one")
    (device,) = x.devices()
    place = (
        "cpu" if device.platform == "cpu" else f"{'cuda' if device.platform == 'gpu' else device.platform}:{device.id}"
    )
    strides = capsules.strides(x.__dlpack__()) if x.ndim > 1 else None  # it keeps the order of what it shares
    return Facts("jax", name_of(x.dtype), tuple(x.shape), strides, x.unsafe_buffer_pointer(), place, immutable=True)


def give(x: Any) -> Carrier:
    return capsules.of(x, name_of(x.dtype))


def take(carrier: Carrier, facts: Facts) -> Any:
    import jax  # noqa: PLC0415

    return jax.dlpack.from_dlpack(carrier)


def pointer(x: Any) -> int:
    return int(x.unsafe_buffer_pointer())


def copy(x: Any, dtype: str) -> Any:
    import jax  # noqa: PLC0415

    return jax.numpy.array(x, dtype=dtype, copy=True)


def cast(x: Any, dtype: str) -> Any:
    return x.astype(dtype)


def move(x: Any, device: str) -> Any:
    import jax  # noqa: PLC0415

    kind, _, index = device.partition(":")
    return jax.device_put(x, jax.devices(kind)[int(index or 0)])
