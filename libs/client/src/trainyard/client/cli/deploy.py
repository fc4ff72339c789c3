"""`yard deploy` and `yard compare`: a proven model onto a running model server, and two of its versions side by side."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from trainyard.client.cli.context import AsJson, yard
from trainyard.client.cli.report import find, report_of
from trainyard.common.errors import TrainyardError

PROGRAM = "trainyard.converter.deploying"
Server = Annotated[
    str, typer.Option("--server", help="http://HOST:PORT or grpc://HOST:PORT, of Triton or `yard serve`.")
]


def deploy(
    ctx: typer.Context,
    conversion: Annotated[str, typer.Argument(metavar="ID", help="A conversion's id, its job's, or its folder.")],
    server: Server,
    repository: Annotated[
        Path | None,
        typer.Option(help="The folder that the server reads its models from. Without it the files are sent along."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The model's name there; default: its own.")] = None,
    keep: Annotated[int, typer.Option(min=1, max=100, help="How many of its newest versions are served.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Bring a converted model onto a server, ask it for the framework's numbers, and go back if it fails."""
    folder = Path(conversion)
    if not (folder / "report.json").is_file():
        with yard(ctx) as gateway:
            folder = report_of(find(gateway, conversion)).parent
    options = ["--conversion", str(folder), "--server", server, "--keep", str(keep)]
    options += ["--repository", str(repository)] if repository else []
    options += ["--name", name] if name else []
    _become("deploy", options, as_json)


def compare(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its name on the server.")],
    first: Annotated[int, typer.Argument(metavar="VERSION", min=1)],
    second: Annotated[int, typer.Argument(metavar="VERSION", min=1)],
    server: Server,
    inputs: Annotated[Path, typer.Option(help="An .npz of inputs by name, with a row for each request.")],
    requests: Annotated[int, typer.Option(min=1, max=1_000_000, help="To each version.")] = 200,
    as_json: AsJson = False,
) -> None:
    """The same requests to two versions that a server has: how far apart they are, and how fast each is."""
    options = ["--server", server, "--inputs", str(inputs), "--requests", str(requests)]
    _become("compare", [*options, model, str(first), str(second)], as_json)


def _become(command: str, options: list[str], as_json: bool) -> None:
    if find_spec("trainyard.converter") is None:
        raise TrainyardError("models cannot be deployed from here: trainyard-converter is not installed")
    options += ["--json"] if as_json else []
    os.execv(sys.executable, [sys.executable, "-m", PROGRAM, command, *options])  # noqa: S606 - its exit code is ours


def register(app: typer.Typer) -> None:
    app.command("deploy")(deploy)
    app.command("compare")(compare)
