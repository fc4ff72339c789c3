"""`yard data map`: a dataset through a model, or any function that is offered over Flight, into a new dataset."""

from __future__ import annotations

from typing import Annotated

import typer

from trainyard.client.cli import dataplane, output
from trainyard.client.cli.context import AsJson
from trainyard.common.contract import quantities
from trainyard.common.errors import InvalidInput


def map_dataset(
    ctx: typer.Context,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="What is read.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What the answers become.")],
    through: Annotated[str, typer.Option(metavar="MODEL", help="A model that is served, or another function.")],
    at: Annotated[str, typer.Option(help="Where: `yard serve --flight-port` says it.")],
    given: Annotated[
        list[str] | None, typer.Option("--input", metavar="INPUT=COLUMN", help="Where names differ; may be repeated.")
    ] = None,
    keep: Annotated[str, typer.Option(help="Columns to keep beside the answers, between commas.")] = "",
    version: Annotated[str | None, typer.Option(help="Of DATASET; default: the current one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send the rows of a dataset through a model, batch by batch, and keep what it answers as a new dataset."""
    if "://" not in at:
        raise InvalidInput.one(f"{at!r} is no grpc://HOST:PORT", "--at")
    inputs = dict(_pair(item) for item in given or ())
    with dataplane.client(ctx) as client:
        from trainyard.data.exchanging import Exchange  # noqa: PLC0415 - pyarrow takes its time
        from trainyard.data.mapping import mapped  # noqa: PLC0415

        found = client.find(dataset, version)
        kept = tuple(name.strip() for name in keep.split(",") if name.strip())
        with Exchange(at, patience=10) as exchange, dataplane.bar(f"{dataset} → {new}", found.rows) as told:
            made = client.put(new, mapped(client, found, exchange, through, inputs, kept), progress=told)
    if as_json:
        output.as_json(made)
    else:
        output.console.print(f"{made['dataset']}  {made['rows']} rows  {quantities.human_bytes(made['bytes'])}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals or not name or not column:
        raise InvalidInput.one(f"{text!r} is no INPUT=COLUMN", "--input")
    return name, column


def register(app: typer.Typer) -> None:
    app.command("map")(map_dataset)
