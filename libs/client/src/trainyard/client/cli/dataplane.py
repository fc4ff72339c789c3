"""What the commands of `yard data` share: a client of the data server, its errors as ours, a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trainyard.client.cli import output
from trainyard.client.cli.context import Context
from trainyard.client.yard.layout import Layout
from trainyard.common.errors import Conflict, InvalidInput, NotFound, TrainyardError, Unauthorized, Unavailable
from trainyard.common.runtime.settings import data_port

if TYPE_CHECKING:
    from trainyard.data.client import Client


@contextmanager
def client(ctx: typer.Context) -> Iterator[Client]:
    """Of the server that TRAINYARD_DATA names, else of this machine's yard."""
    context: Context = ctx.obj
    place = os.environ.get("TRAINYARD_DATA") or f"grpc://127.0.0.1:{data_port(Layout.read(os.environ).base_port)}"
    authority = os.environ.get("TRAINYARD_DATA_CA")
    token = context.token or os.environ.get("TRAINYARD_TOKEN")
    with told():
        from trainyard.data.client import Client  # noqa: PLC0415

        try:
            roots = Path(authority).read_bytes() if authority else None
        except OSError as error:
            raise InvalidInput.one(f"{authority} cannot be read: {error.strerror}", "TRAINYARD_DATA_CA") from error
        with Client(place, token, roots=roots, patience=10) as opened:
            yield opened


@contextmanager
def told() -> Iterator[None]:
    """Errors of the data plane as those of everything else here."""
    try:
        from trainyard.data import errors  # noqa: PLC0415
    except ImportError as error:
        raise TrainyardError(f"the data plane is not installed: {error}") from error
    kinds: dict[type[errors.DataError], Callable[[str], TrainyardError]] = {
        errors.InvalidData: InvalidInput.one,
        errors.NotFound: NotFound,
        errors.Conflict: Conflict,
        errors.Refused: Unauthorized,
        errors.Unavailable: Unavailable,
    }
    try:
        yield
    except errors.DataError as error:
        raise kinds.get(type(error), TrainyardError)(str(error)) from error


@contextmanager
def bar(words: str, rows: int | None = None) -> Iterator[Any]:
    """On a terminal, told how many rows are done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=output.errors, disable=not output.errors.is_terminal, transient=True) as progress:
        task = progress.add_task(words, total=rows)
        yield lambda done: progress.update(task, completed=done)


def counted(batches: Iterator[Any], told: Callable[[int], None]) -> Iterator[Any]:
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        told(done)
