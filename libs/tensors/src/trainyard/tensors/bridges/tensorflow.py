"""TensorFlow. It computes on memory at a multiple of 64 bytes alone, and ends the process on any other."""

from __future__ import annotations

from typing import Any

from trainyard.tensors import capsules
from trainyard.tensors.capsules import CPU, Carrier
from trainyard.tensors.dtypes import FLOAT8, SIZES, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TRAITS = Traits(
    "tensorflow",
    frozenset(SIZES) - FLOAT8,  # it can hold float8 and neither gives nor views it
    strided=False,
    aligned=True,
    writable=False,
    devices=frozenset({"cpu", "cuda"}),
)


def traits() -> Traits:
    return _TRAITS


def owns(kind: type) -> bool:
    import tensorflow as tf  # noqa: PLC0415

    return issubclass(kind, tf.Tensor | tf.Variable | tf.SparseTensor | tf.RaggedTensor | tf.IndexedSlices)


def facts(x: Any) -> Facts:
    import tensorflow as tf  # noqa: PLC0415

    if isinstance(x, tf.SparseTensor | tf.RaggedTensor | tf.IndexedSlices):
        words = {"SparseTensor": "tf.sparse.to_dense(x)", "RaggedTensor": "x.to_tensor()"}
        raise TensorError(
            f"a {type(x).__name__} has no one block of memory: {words.get(type(x).__name__, 'tf.convert_to_tensor(x)')} has"
        )
    tensor = _value(x)
    if not tf.executing_eagerly() or not hasattr(tensor, "numpy"):
        raise TensorError("it belongs to a graph (tf.function, Keras) and has no values yet: convert outside of it")
    dtype = name_of(tensor.dtype)
    if dtype in FLOAT8:
        raise TensorError(f"TensorFlow gives no {dtype} to others: tf.cast(x, tf.float16)")
    place = _place(tensor)
    return Facts("tensorflow", dtype, tuple(tensor.shape), None, pointer(tensor), place, immutable=True)


def _place(tensor: Any) -> str:
    """As `cpu`, `cuda:0`."""
    kind, _, index = tensor.device.rpartition("device:")[2].partition(":")
    return "cpu" if kind == "CPU" else f"{kind.lower().replace('gpu', 'cuda')}:{index}"


def _value(x: Any) -> Any:
    return x.value() if type(x).__name__.endswith("Variable") and callable(getattr(x, "value", None)) else x


def give(x: Any) -> Carrier:
    import tensorflow as tf  # noqa: PLC0415

    tensor = _value(x)
    place = _place(tensor)
    device = CPU if place == "cpu" else (2, int(place.rpartition(":")[2]))
    return Carrier(lambda stream: tf.experimental.dlpack.to_dlpack(tensor), name_of(tensor.dtype), device)


def take(carrier: Carrier, facts: Facts) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    return tf.experimental.dlpack.from_dlpack(carrier.__dlpack__())


def pointer(x: Any) -> int:
    import tensorflow as tf  # noqa: PLC0415

    return capsules.pointer(tf.experimental.dlpack.to_dlpack(_value(x)))


def copy(x: Any, dtype: str) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    tensor = _value(x)
    return tf.cast(tensor, dtype) if name_of(tensor.dtype) != dtype else tf.raw_ops.DeepCopy(x=tensor)


def cast(x: Any, dtype: str) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    return tf.cast(x, dtype)


def move(x: Any, device: str) -> Any:
    import tensorflow as tf  # noqa: PLC0415

    with tf.device(f"/{device.replace('cuda', 'GPU')}"):
        return tf.identity(x)
