"""One served version of a model: its requests are checked by its configuration, then computed.

Both front ends ask through here, so they refuse the same things with the same sentences. What computes is an onnxruntime
session, or the steps of an ensemble.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.ports import ExportFault
from trainyard.converter.serving.configuration import Configuration, Slot
from trainyard.converter.serving.datatypes import NAMES
from trainyard.converter.serving.response_cache import ResponseCache, key_of

Compute = Callable[[Case], dict[str, Array]]


@dataclass(slots=True)
class Statistics:
    executions: int = 0
    inferences: int = 0
    """Rows, where the model is batched."""
    nanoseconds: int = 0
    hits: int = 0
    """Answered from the cache, without running the model."""
    misses: int = 0
    failures: int = 0
    failed_nanoseconds: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def successes(self) -> int:
        return self.executions + self.hits

    def succeeded(self, rows: int, began: int, *, cached: bool | None = None) -> None:
        """`cached`: whether the answer was in the cache; None: there is none."""
        with self.lock:
            self.hits += cached is True
            self.misses += cached is False
            self.executions += cached is not True
            self.inferences += rows
            self.nanoseconds += time.perf_counter_ns() - began

    def failed(self, began: int) -> None:
        with self.lock:
            self.failures += 1
            self.failed_nanoseconds += time.perf_counter_ns() - began


@dataclass(slots=True)
class Model:
    configuration: Configuration
    version: int
    compute: Compute
    cache: ResponseCache | None = None
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def name(self) -> str:
        return self.configuration.name

    def infer(self, inputs: Case) -> dict[str, Array]:
        """Every output by name, in the order of the configuration. Raises InvalidInput for what does not fit it."""
        began = time.perf_counter_ns()
        rows = _check(self.configuration, inputs)
        key = b"" if self.cache is None else key_of(inputs)
        kept = None if self.cache is None else self.cache.get(key)
        if kept is not None:
            self.statistics.succeeded(rows, began, cached=True)
            return kept
        outputs = self._computed(inputs, began)
        if self.cache is not None:
            self.cache.put(key, outputs)
        self.statistics.succeeded(rows, began, cached=None if self.cache is None else False)
        return outputs

    def _computed(self, inputs: Case, began: int) -> dict[str, Array]:
        slots = self.configuration.inputs
        try:
            found = self.compute({name: _inner(slots[name], array) for name, array in inputs.items()})
            return {name: _outer(slot, found[name]) for name, slot in self.configuration.outputs.items()}
        except ExportFault as error:
            self.statistics.failed(began)
            raise InvalidInput.one(str(error)) from error
        except BaseException:
            self.statistics.failed(began)
            raise


def _check(configuration: Configuration, inputs: Case) -> int:
    """How many rows the request has."""
    wanted = configuration.inputs
    if set(inputs) != set(wanted):
        raise InvalidInput.one(f"the inputs are {', '.join(sorted(wanted))}, not {', '.join(sorted(inputs)) or 'none'}")
    for name, slot in wanted.items():
        given = inputs[name]
        if given.dtype != slot.dtype:
            kind = NAMES.get(given.dtype, str(given.dtype))
            raise InvalidInput.one(f"input {name!r} is {kind}, {slot.datatype} is needed")
        if not _fits(slot.shape, given.shape):
            raise InvalidInput.one(f"input {name!r} has shape {list(given.shape)}, {list(slot.shape)} is needed")
    return _rows(configuration, inputs)


def _rows(configuration: Configuration, inputs: Case) -> int:
    if not configuration.max_batch_size:
        return 1
    batches = {array.shape[0] for array in inputs.values()}
    if len(batches) > 1:
        raise InvalidInput.one(f"the inputs have different batch sizes: {sorted(batches)}")
    batch = int(next(iter(batches)))
    if batch < 1:
        raise InvalidInput.one("a batch has one row at least")
    if batch > configuration.max_batch_size:
        raise InvalidInput.one(f"batch {batch} is above max_batch_size {configuration.max_batch_size}")
    return batch


def _fits(wanted: tuple[int, ...], given: tuple[int, ...]) -> bool:
    return len(given) == len(wanted) and all(want in {-1, have} for want, have in zip(wanted, given, strict=True))


def _inner(slot: Slot, array: Array) -> Array:
    """As the model wants it."""
    return array if slot.inner is None else array.reshape(_reshaped(slot.shape, slot.inner, array.shape))


def _outer(slot: Slot, array: Array) -> Array:
    """As clients see it. A model that answers otherwise than its configuration says is not passed off as one that does."""
    inner = slot.shape if slot.inner is None else slot.inner
    if array.dtype != slot.dtype or not _fits(inner, array.shape):
        kind = NAMES.get(array.dtype, str(array.dtype))
        raise ExportFault(
            f"the model answers {slot.name!r} as {kind} {list(array.shape)}, "
            f"its configuration says {slot.datatype} {list(inner)}"
        )
    return array if slot.inner is None else array.reshape(_reshaped(inner, slot.shape, array.shape))


def _reshaped(source: tuple[int, ...], target: tuple[int, ...], given: tuple[int, ...]) -> tuple[int, ...]:
    """Free dimensions keep their sizes, in order."""
    free = iter([have for want, have in zip(source, given, strict=True) if want == -1])
    return tuple(next(free, -1) if dim == -1 else dim for dim in target)
