"""Batches as each framework likes them: a DataLoader of torch or paddle, a tf.data.Dataset, arrays of JAX.

A framework is imported by the function that bears its name alone. Tensors share the batch's memory where the framework can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from trainyard.data.batches import Batch, Batches
from trainyard.data.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[[Any], Any]


def torch(batches: Batches) -> Any:
    """A DataLoader whose items are dicts of tensors; `len` of it is the batches of an epoch."""
    from torch import from_numpy  # noqa: PLC0415
    from torch.utils.data import DataLoader, IterableDataset  # noqa: PLC0415

    class Epochs(IterableDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(batches)

        def __iter__(self) -> Iterator[dict[str, Any]]:
            return (_each(batch, lambda values: from_numpy(_own(values))) for batch in batches)

    return DataLoader(Epochs(), batch_size=None)


def paddle(batches: Batches) -> Any:
    """A paddle.io.DataLoader whose items are dicts of tensors."""
    from paddle.io import DataLoader, IterableDataset  # noqa: PLC0415

    class Epochs(IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[Batch]:
            return iter(batches)

    return DataLoader(Epochs(), batch_size=None, return_list=False)


def tensorflow(batches: Batches) -> Any:
    """A tf.data.Dataset; each pass over it is the next epoch."""
    import tensorflow as tf  # noqa: PLC0415

    signature = {
        name: tf.TensorSpec((None, *values.shape[1:]), tf.string if values.dtype == object else values.dtype)
        for name, values in batches.sample().items()
    }
    made = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    return made.apply(tf.data.experimental.assert_cardinality(len(batches)))


class Jax:
    """Dicts of jax.Array, epoch by epoch."""

    def __init__(self, batches: Batches) -> None:
        import jax  # noqa: PLC0415

        self._batches = batches
        self._jax = jax

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        wide = bool(self._jax.config.jax_enable_x64)
        for batch in self._batches:
            yield {
                name: self._jax.numpy.asarray(values if wide else narrow(name, values))
                for name, values in batch.items()
            }


def narrow(name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What JAX without x64 would cut off in silence is told. Raises InvalidData."""
    if values.dtype not in (np.int64, np.uint64):
        return values
    kind = np.dtype(np.int32 if values.dtype == np.int64 else np.uint32)
    if len(values) and (values.max() > np.iinfo(kind).max or values.min() < np.iinfo(kind).min):
        raise InvalidData(f"{name} has numbers beyond {kind}, which JAX cuts off: set jax_enable_x64")
    return values.astype(kind)


def _each(batch: Batch, make: Make) -> dict[str, Any]:
    return {name: values.tolist() if values.dtype == object else make(values) for name, values in batch.items()}


def _own(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Writable, as torch wants them: who trains in place must not write into the dataset."""
    return values if values.flags.writeable else values.copy()
