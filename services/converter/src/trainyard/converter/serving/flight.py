"""Models over Arrow Flight: the rows of a dataset go through one batch by batch (DoExchange), as `yard data map` asks.

A stream's batches are as the sender cut them; the model gets as many rows at a time as its configuration takes. One number a
row is a plain column, where Triton's protocol has a dimension of 1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.serving.configuration import Slot
from trainyard.converter.serving.models import Model
from trainyard.converter.serving.repository import Repository
from trainyard.data.errors import InvalidData, Unavailable
from trainyard.data.exchange import Function, FunctionServer


def create(repository: Repository, place: str) -> FunctionServer:
    """`place`: grpc://host:port of a loopback address, since it asks for no credentials, like the other front ends. It
    answers from here on. Raises TrainyardError where it cannot listen."""
    try:
        return FunctionServer(lambda: functions(repository), lambda _: "local", place)
    except Unavailable as error:
        raise TrainyardError(str(error)) from error


def functions(repository: Repository) -> dict[str, Function]:
    """The newest version of every model that is served."""
    ready = {entry.name for entry in repository.index(ready_only=True)}
    return {name: _function(repository.get(name)) for name in ready}


def _function(model: Model) -> Function:
    def compute(batch: Case) -> Mapping[str, Array]:
        try:
            return answered(model, batch)
        except InvalidInput as error:
            raise InvalidData(str(error)) from error

    return Function(compute, tuple(model.configuration.inputs))


def answered(model: Model, batch: Case) -> dict[str, Array]:
    """Every output for every row. Raises InvalidInput for what does not fit the model, or where it does not take rows."""
    configuration = model.configuration
    most = configuration.max_batch_size or _one_row(model)
    rows = len(next(iter(batch.values())))
    given = {name: _with_dimension(array, configuration.inputs[name]) for name, array in batch.items()}
    found = [model.infer({name: array[at : at + most] for name, array in given.items()}) for at in range(0, rows, most)]
    return {
        name: _without_dimension(np.concatenate([each[name] for each in found]), slot)
        for name, slot in configuration.outputs.items()
    }


def _one_row(model: Model) -> int:
    """A model without batches answers a row alone, where its first dimension can be that row."""
    slots = {**model.configuration.inputs, **model.configuration.outputs}
    other = next((slot for slot in slots.values() if not slot.shape or slot.shape[0] not in {1, -1}), None)
    if other is not None:
        words = (
            f"{model.name} answers no rows: its configuration has no batches, and {other.name!r} has no dimension for"
        )
        raise InvalidInput.one(f"{words} one: {list(other.shape)}")
    return 1


def _with_dimension(array: Array, slot: Slot) -> Array:
    return array.reshape(-1, 1) if array.ndim == 1 and slot.shape[1:] == (1,) else array


def _without_dimension(array: Array, slot: Slot) -> Array:
    return array.reshape(-1) if array.ndim == 2 and slot.shape[1:] == (1,) else array
