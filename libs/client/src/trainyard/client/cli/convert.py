"""`yard convert` a trained model that lies on this machine, and `yard models`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from trainyard.client import files
from trainyard.client.cli import exits, output
from trainyard.client.cli.context import AsJson, yard
from trainyard.client.cli.watching import watch_conversion
from trainyard.common.errors import InvalidInput


def convert(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A job file with a `convert:` block, or a conversion file.")],
    artifacts: Annotated[
        Path | None, typer.Option(help="The folder with weights and samples; default: the file's.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Show progress until it has ended.")] = True,
    as_json: AsJson = False,
) -> None:
    """Convert a trained model to ONNX and Triton, and prove that the numbers are equal."""
    document = files.read(file)
    block = document.get("convert")
    if not isinstance(block, dict):
        raise InvalidInput.one(f"{file} has no `convert:` block")
    folder = artifacts or (file if file.is_dir() else file.parent)
    spec = {
        "framework": "pytorch",
        "workdir": document["workdir"],
        "artifacts": str(folder.resolve()),
        "convert": {"name": document.get("name"), **block},
    }
    with yard(ctx) as gateway:
        view = gateway.convert(spec)
        if watch:
            with Progress(
                TextColumn("[bold]{task.description}"), BarColumn(), TextColumn("{task.fields[words]}", markup=False),
                console=output.errors, disable=as_json,
            ) as progress:  # fmt: skip
                watch_conversion(gateway, view.conversion_id, progress)
            view = gateway.wait_conversion(view.conversion_id)
    if as_json:
        output.as_json(view)
    else:
        output.console.print(output.conversion_words(view))
        for name in ("onnx", "repository", "report_html"):
            if view.result and view.result.get(name):
                output.console.print(f"  {name:<12} {view.result[name]}")
    if watch and view.state != "succeeded":
        raise typer.Exit(exits.NOT_SUCCESSFUL)


def models(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Converted models, ready to be served."""
    with yard(ctx) as gateway:
        page = gateway.models()
    if as_json:
        output.as_json(page)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("MODEL", "CREATED", "REPOSITORY"):
        table.add_column(heading, overflow="fold")
    for model in page.models:
        table.add_row(model.name, model.created_at, model.repository or "")
    output.console.print(table if page.models else "no models yet")


def register(app: typer.Typer) -> None:
    app.command("convert")(convert)
    app.command("models")(models)
