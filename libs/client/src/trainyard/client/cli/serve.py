"""`yard serve`: a model server on this machine, for what was converted here or for any Triton repository."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from trainyard.client.yard.layout import Layout
from trainyard.common.errors import InvalidInput, TrainyardError

SERVER = "trainyard.converter.serving"


def serve(
    repository: Annotated[
        Path | None, typer.Argument(metavar="[REPOSITORY]", help="Its folder; default: the models converted here.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="For HTTP.")] = 8000,
    grpc_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="For gRPC; default: the one behind --port; 0: none.")
    ] = None,
    flight_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="For Arrow Flight, as `yard data map` speaks it; 0: any free one."),
    ] = None,
    explicit: Annotated[
        bool, typer.Option("--explicit", help="Load a model only when a client asks to, as `yard deploy` does.")
    ] = False,
) -> None:
    """Serve models over HTTP and gRPC, as Triton does, to this machine alone; until Ctrl-C."""
    folder = repository or Layout.read(os.environ).state / "models"
    if not folder.is_dir():
        raise InvalidInput.one(
            f"there is no folder {folder}", "REPOSITORY", "`yard convert MODEL` makes it" if repository is None else ""
        )
    if find_spec("trainyard.converter") is None:
        raise TrainyardError("the model server is not installed: it comes with trainyard-converter")
    command = [sys.executable, "-m", SERVER, "--repository", str(folder), "--port", str(port)]
    command += ["--grpc-port", str(grpc_port)] if grpc_port is not None else []
    command += ["--flight-port", str(flight_port)] if flight_port is not None else []
    command += ["--explicit"] if explicit else []
    os.execv(sys.executable, command)  # noqa: S606 - signals and the exit code are the server's from here


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)
