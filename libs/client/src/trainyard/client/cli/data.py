"""`yard data …`: datasets of the data server, and the server itself."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from trainyard.client.cli import data_map, data_server, dataplane, output
from trainyard.client.cli.context import AsJson
from trainyard.common.contract import quantities
from trainyard.common.errors import InvalidInput

app = typer.Typer(help="Datasets: put them once, read them from every framework.", no_args_is_help=True)
data_server.register(app)
data_map.register(app)
Name = Annotated[
    str, typer.Argument(metavar="DATASET", help="Words of a-z, 0-9, `.`, `_`, `-`; up to four between `/`.")
]
Version = Annotated[str | None, typer.Option(help="Another than the current one.")]
Columns = Annotated[str, typer.Option(help="Only these, between commas.")]


@app.command()
def put(
    ctx: typer.Context,
    name: Name,
    source: Annotated[str, typer.Argument(help="A file, a folder, or a URI such as s3://bucket/folder.")],
    size: Annotated[str | None, typer.Option(help="HEIGHTxWIDTH that pictures are resized to.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="KEY=VALUE to keep with it; may be repeated.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send a dataset. It is there all at once, as the current version of its name; an upload that broke goes on."""
    labels = dict(_pair(item) for item in label or ())
    with dataplane.client(ctx) as client:
        from trainyard.data import sources  # noqa: PLC0415 - pyarrow takes its time

        opened = sources.read(source, size=_size(size))
        with dataplane.bar(f"{name} ← {source}") as told:
            made = client.put(name, opened, labels=labels, progress=told)
    if as_json:
        output.as_json(made)
    else:
        output.console.print(f"{made['dataset']}  {made['rows']} rows  {quantities.human_bytes(made['bytes'])}")


@app.command()
def get(
    ctx: typer.Context,
    name: Name,
    file: Annotated[Path, typer.Option("--output", "-o", help="Ends in .parquet, .arrow, .csv, .feather or .npz.")],
    version: Version = None,
    columns: Columns = "",
) -> None:
    """Write a dataset into a file."""
    with dataplane.client(ctx) as client:
        from trainyard.data import sinks  # noqa: PLC0415

        found = client.find(name, version, _names(columns))
        with dataplane.bar(f"{name} → {file}", found.rows) as told:
            batches = client.batches(name, found.version, found.columns)
            rows = sinks.write(file, found.schema, dataplane.counted(batches, told))
    output.console.print(f"{file}  {rows} rows")


@app.command()
def head(
    ctx: typer.Context,
    name: Name,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, max=1000)] = 5,
    version: Version = None,
    columns: Columns = "",
    as_json: AsJson = False,
) -> None:
    """The first rows."""
    with dataplane.client(ctx) as client:
        found = client.find(name, version, _names(columns))
        first: list[dict[str, Any]] = []
        for batch in client.batches(name, found.version, found.columns):
            first += batch.slice(0, rows - len(first)).to_pylist()
            if len(first) >= rows:
                break
    if as_json:
        output.as_json([{key: _plain(value) for key, value in row.items()} for row in first])
        return
    table = output.folding(found.schema.names)
    for row in first:
        table.add_row(*(_short(value) for value in row.values()))
    output.console.print(table, markup=False)


@app.command("list")
def listing(ctx: typer.Context, prefix: Annotated[str, typer.Argument()] = "", as_json: AsJson = False) -> None:
    """What there is: every version of every dataset."""
    with dataplane.client(ctx) as client:
        found = client.list(prefix)
    if as_json:
        output.as_json({"datasets": found})
        return
    table = output.folding(("DATASET", "VERSION", "ROWS", "SIZE", "MADE", "OWNER", ""))
    for item in found:
        made = datetime.fromtimestamp(item["created"], UTC).strftime("%Y-%m-%d %H:%M")
        size = quantities.human_bytes(item["bytes"])
        pinned = "pinned" if item["pinned"] else ""
        table.add_row(item["dataset"], item["version"], str(item["rows"]), size, made, item["owner"], pinned)
    output.console.print(table, markup=False)


@app.command("rm")
def remove(ctx: typer.Context, name: Name, version: Version = None) -> None:
    """Remove a dataset, or one version of it. Who reads it just now reads on."""
    with dataplane.client(ctx) as client:
        gone = client.act("delete", dataset=name, version=version)["versions"]
    output.console.print(f"{name}: {gone} version{'s' if gone != 1 else ''} removed")


@app.command()
def pin(ctx: typer.Context, name: Name, version: Version = None) -> None:
    """Keep a dataset: it is neither removed nor makes room for others."""
    with dataplane.client(ctx) as client:
        client.act("pin", dataset=name, version=version)


@app.command()
def unpin(ctx: typer.Context, name: Name, version: Version = None) -> None:
    """Let a dataset be removed again."""
    with dataplane.client(ctx) as client:
        client.act("unpin", dataset=name, version=version)


@app.command()
def expire(ctx: typer.Context, name: Name, after: Annotated[str, typer.Argument(help="Such as 12h or 30d.")]) -> None:
    """Remove a dataset some time from now."""
    try:
        seconds = quantities.seconds(after)
    except ValueError as error:
        raise InvalidInput.one(str(error), "AFTER") from None
    with dataplane.client(ctx) as client:
        client.act("expire", dataset=name, after=seconds)


def _names(columns: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in columns.split(",") if name.strip())


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidInput.one(f"{text!r} is no KEY=VALUE", "--label")
    return key, value


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    height, _, width = text.partition("x")
    if not height.isdecimal() or not width.isdecimal() or not int(height) or not int(width):
        raise InvalidInput.one(f"{text!r} is no HEIGHTxWIDTH such as 224x224", "--size")
    return int(height), int(width)


def _plain(value: Any) -> Any:
    return f"{len(value)} bytes" if isinstance(value, bytes) else value


def _short(value: Any) -> str:
    words = str(_plain(value))
    return words if len(words) <= 60 else f"{words[:57]}…"
