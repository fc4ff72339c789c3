"""`yard convert` a trained model that lies on this machine, and `yard models`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.progress import BarColumn, Progress, TextColumn

from trainyard.client.cli import exits, output
from trainyard.client.cli.context import AsJson, yard
from trainyard.client.cli.watching import watch_conversion
from trainyard.client.converting import EXAMPLE, conversion, tensor
from trainyard.common.contract.conversions import ConvertSpec, Precision, Target

TARGETS = ", ".join(get_args(Target))
PRECISIONS = ", ".join(get_args(Precision))
DEFAULT = " and ".join(ConvertSpec.model_fields["to"].default)


def convert(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model's file or folder, or a job file with a `convert:` block.")
    ],
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            help=f"{TARGETS}; may be repeated. Default: {DEFAULT}.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The model's name; default: the file's or the job's.")] = None,
    model: Annotated[
        str | None, typer.Option(help="module:factory that builds the model, for weights alone; from this folder.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help=f"{EXAMPLE}; where the model does not say it itself.")
    ] = None,
    samples: Annotated[
        str | None, typer.Option(help="An .npz of inputs by name, or data://DATASET, to prove the numbers on.")
    ] = None,
    signature: Annotated[str | None, typer.Option(help="Of a SavedModel.")] = None,
    optimise: Annotated[
        bool, typer.Option("--optimise", help="Make the graph smaller where the numbers stay the same.")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(help=f"Of what is served: {PRECISIONS}. Default: as it was trained.")
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="The file may carry code (a pickle, a Lambda layer) that is run in a sandbox."),
    ] = False,
    artifacts: Annotated[
        Path | None, typer.Option(help="The folder with weights and samples; default: the file's.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Show progress until it has ended.")] = True,
    as_json: AsJson = False,
) -> None:
    """Convert a trained model to ONNX and Triton, and prove that the numbers are equal."""
    said = {
        "to": to,
        "name": name,
        "model": model,
        "inputs": [tensor(text) for text in inputs] if inputs else None,
        "samples": samples if samples is None or "://" in samples else str(Path(samples).resolve()),
        "signature": signature,
        "optimise": optimise or None,
        "precision": precision,
        "trust": trust or None,
    }
    spec = conversion(file, said, artifacts)
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
        result = view.result or {}
        made = {"onnx": result.get("onnx"), **result.get("targets", {}), "repository": result.get("repository")}
        for what, path in {**made, "report_html": result.get("report_html")}.items():
            if path:
                output.console.print(f"  {what:<12} {path}")
    if watch and view.state != "succeeded":
        raise typer.Exit(exits.NOT_SUCCESSFUL)


def models(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Converted models, ready to be served."""
    with yard(ctx) as gateway:
        page = gateway.models()
    if as_json:
        output.as_json(page)
        return
    table = output.folding(("MODEL", "CREATED", "REPOSITORY"))
    for model in page.models:
        table.add_row(model.name, model.created_at, model.repository or "")
    output.console.print(table if page.models else "no models yet")


def register(app: typer.Typer) -> None:
    app.command("convert")(convert)
    app.command("models")(models)
