"""Functions of batches behind Flight's DoExchange: a model that infers, a job that prepares data for others.

    with offered({"scale": lambda batch: {"pixels": batch["pixels"] / 255}}) as server:
        print(server.location)                       # what `Exchange` and `yard data map` take

A batch comes as column → array [rows, …] and goes back the same way, with as many rows. One batch of a stream is worked on at
a time; while it is, gRPC holds the sender back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from trainyard.data.door import Door, Who, caller, command, told
from trainyard.data.errors import DataError, InvalidData, NotFound, Unavailable
from trainyard.data.receiving import check, digest
from trainyard.data.rows import Array, view
from trainyard.data.sources import column

Compute = Callable[[dict[str, Array]], Mapping[str, Array]]


@dataclass(frozen=True, slots=True)
class Function:
    compute: Compute
    inputs: tuple[str, ...] = ()
    """The columns that it takes; none named: whatever comes."""


Find = Callable[[], Mapping[str, Function]]
"""What is offered just now."""


class FunctionServer(fl.FlightServerBase):  # type: ignore[misc]
    def __init__(self, find: Find, who: Who, place: str = "grpc://127.0.0.1:0") -> None:
        """Answers from here on, in threads of its own. Raises Unavailable where it cannot listen on `place`."""
        self._find = find
        self._scheme, _, address = place.partition("://")
        self._host = address.rpartition(":")[0]
        try:
            super().__init__(place, middleware={"who": Door(who)})
        except (pa.ArrowException, OSError) as error:
            raise Unavailable(f"it cannot listen on {place}: {str(error).splitlines()[0]}") from error

    @property
    def location(self) -> str:
        return f"{self._scheme}://{self._host}:{self.port}"

    def list_actions(self, context: Any) -> list[tuple[str, str]]:
        return [("functions", "What is offered, and the columns that it takes.")]

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        with told():
            caller(context)
            if action.type != "functions":
                raise InvalidData(f"there is no action {action.type}: functions")
            offered = [{"name": name, "inputs": known.inputs} for name, known in sorted(self._find().items())]
            return [json.dumps({"functions": offered}).encode()]

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        with told():
            caller(context)
            name = str(command(descriptor).get("function", ""))
            offered = self._find()
            if name not in offered:
                raise NotFound(f"there is no function {name!r} here: {', '.join(sorted(offered)) or 'none is offered'}")
            self._answer(name, offered[name], reader, writer)

    def _answer(self, name: str, function: Function, reader: Any, writer: Any) -> None:
        schema: pa.Schema | None = None
        row = 0
        for chunk in reader:
            if chunk.data is None:  # what opens a stream has no rows
                continue
            check(chunk.data, chunk.app_metadata.to_pybytes() if chunk.app_metadata else b"")
            answer = computed(name, function, chunk.data, row)
            if schema is None:
                schema = answer.schema
                writer.begin(schema)
            elif answer.schema != schema:
                words = f"{name} answers row {row} on as {_words(answer.schema)}, the rows before as {_words(schema)}"
                raise InvalidData(words)
            writer.write_with_metadata(answer, digest(answer))
            row += chunk.data.num_rows


def computed(name: str, function: Function, batch: pa.RecordBatch, row: int = 0) -> pa.RecordBatch:
    """What it makes of these rows, `row` and on. Raises InvalidData, and DataError for what the function raised."""
    missing = [each for each in function.inputs if each not in batch.schema.names]
    if missing:
        raise InvalidData(f"{name} takes a column {missing[0]!r}; there are {', '.join(batch.schema.names)}")
    names = function.inputs or tuple(batch.schema.names)
    where = f"{name}, rows {row} to {row + batch.num_rows - 1}"
    try:
        answered = function.compute({each: view(batch.column(each)) for each in names})
    except DataError as error:
        raise type(error)(f"{where}: {error}") from error
    except Exception as error:
        words = f"{where}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        raise DataError(words) from error
    if not answered or any(not array.ndim or len(array) != batch.num_rows for array in answered.values()):
        said = ", ".join(f"{key} {list(array.shape)}" for key, array in answered.items()) or "nothing"
        raise InvalidData(f"{where}: it answers {said}, where each column needs {batch.num_rows} rows")
    return pa.record_batch({key: column(array) for key, array in answered.items()})


@contextmanager
def offered(
    functions: Mapping[str, Compute], place: str = "grpc://127.0.0.1:0", who: Who | None = None
) -> Iterator[Any]:
    """A FunctionServer of these while the block lasts. `who` is needed where other machines can reach `place`."""
    if who is None and not place.partition("://")[2].startswith(("127.", "localhost", "[::1]")):
        raise InvalidData(f"others can reach {place}: say who may call (who)")
    known = {name: Function(compute) for name, compute in functions.items()}
    server = FunctionServer(lambda: known, who or (lambda _: "local"), place)
    try:
        yield server
    finally:
        server.shutdown()


def _words(schema: pa.Schema) -> str:
    return ", ".join(f"{each.name}: {each.type}" for each in schema)
