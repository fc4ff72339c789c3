"""A whole dataset through a function of another process, as the source of a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from trainyard.data.client import Client, Found
from trainyard.data.errors import InvalidData, NotFound
from trainyard.data.exchanging import Exchange
from trainyard.data.sending import Source


def mapped(
    client: Client,
    found: Found,
    exchange: Exchange,
    function: str,
    inputs: Mapping[str, str] | None = None,
    keep: tuple[str, ...] = (),
) -> Source:
    """What `function` answers for each row of `found`, behind its columns `keep`. `inputs`: its input → the column, where
    their names differ. The first rows are computed twice: to see what comes, and to send it. Raises InvalidData, NotFound."""
    columns = _columns(exchange, function, found, inputs or {})
    for each in keep:
        _known(found, each)
    given = Source(found.schema, lambda row: client.batches_from(found, row))

    def rows_from(row: int) -> Iterator[pa.RecordBatch]:
        for sent, answered in exchange.through(function, given, columns, row):
            yield _beside(sent, answered, keep)

    first = next(rows_from(0), None)
    if first is None:
        raise InvalidData(f"{found.name} has no rows, so there is nothing for {function} to answer")
    return Source(first.schema, rows_from)


def _columns(exchange: Exchange, function: str, found: Found, inputs: Mapping[str, str]) -> dict[str, str]:
    """Input of the function → column of the dataset."""
    offered = exchange.functions()
    if function not in offered:
        raise NotFound(f"there is no function {function!r} there: {', '.join(offered) or 'none is offered'}")
    takes = offered[function] or tuple(inputs) or tuple(found.schema.names)
    surplus = [name for name in inputs if name not in takes]
    if surplus:
        raise InvalidData(f"{function} takes no {surplus[0]!r}: it takes {', '.join(takes)}")
    columns = {name: inputs.get(name, name) for name in takes}
    for name, column in columns.items():
        if column == name and name not in found.schema.names:
            words = f"{function} takes {name!r} and {found.name} has {', '.join(found.schema.names)}"
            raise InvalidData(f"{words}: say which column that is ({name}=COLUMN)")
        _known(found, column)
    return columns


def _known(found: Found, column: str) -> None:
    if column not in found.schema.names:
        raise InvalidData(f"{found.name} has no column {column!r}: {', '.join(found.schema.names)}")


def _beside(sent: pa.RecordBatch, answered: pa.RecordBatch, keep: tuple[str, ...]) -> pa.RecordBatch:
    twice = [name for name in keep if name in answered.schema.names]
    if twice:
        raise InvalidData(f"column {twice[0]!r} cannot be kept: the answers have one of that name")
    kept = {name: sent.column(name) for name in keep}
    return pa.record_batch({**kept, **{name: answered.column(name) for name in answered.schema.names}})
