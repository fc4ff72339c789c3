"""`yard data serve`: the data server in this process, until Ctrl-C."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from trainyard.client.cli import dataplane, output
from trainyard.client.yard.layout import Layout
from trainyard.common.contract import quantities
from trainyard.common.errors import InvalidInput, Unauthorized
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import data_port, is_loopback, local_user


def serve(
    root: Annotated[Path | None, typer.Option(help="Where it keeps them; default: the yard's state folder.")] = None,
    listen: Annotated[str, typer.Option(help="Other addresses than loopback need a token.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0: any free one.")] = None,
    quota: Annotated[str | None, typer.Option(help="Such as 200Gi: what has expired goes first.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="PEM chain, for TLS.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="PEM key, for TLS.")] = None,
) -> None:
    """Serve datasets over Arrow Flight until Ctrl-C. `yard up` does this by itself."""
    layout = Layout.read(os.environ)
    tokens = Tokens(layout.tokens)
    tokens.require_for(listen)
    if (certificate is None) != (private_key is None):
        raise InvalidInput.one("TLS needs both", "--certificate, --private-key")
    try:
        room = None if quota is None else quantities.size(quota)
        pems = [(certificate.read_bytes(), private_key.read_bytes())] if certificate and private_key else []
    except ValueError as error:
        raise InvalidInput.one(str(error), "--quota") from None
    except OSError as error:
        raise InvalidInput.one(f"{error.filename} cannot be read: {error.strerror}") from error
    with dataplane.told():
        from trainyard.data import program  # noqa: PLC0415
        from trainyard.data.errors import Refused  # noqa: PLC0415
        from trainyard.data.server import Serving  # noqa: PLC0415
        from trainyard.data.store import Store  # noqa: PLC0415

        def who(authorization: str | None) -> str:
            try:
                return tokens.caller(authorization, listen, local_user())
            except Unauthorized as error:
                raise Refused(str(error)) from None

        folder = root or layout.state / "data"
        scheme = "grpc+tls" if pems else "grpc"
        host = f"[{listen}]" if ":" in listen else listen
        place = f"{scheme}://{host}:{data_port(layout.base_port) if port is None else port}"
        try:
            store, key = Store(folder, room), program.key(folder)
        except OSError as error:
            raise InvalidInput.one(f"{folder} cannot be used: {error.strerror}", "--root") from error
        serving = Serving(store, key, who, place, pems, offers_files=is_loopback(listen))
        program.run(serving, lambda at: output.console.print(f"TRAINYARD_DATA={scheme}://{host}:{at}", highlight=False))


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)
