"""`yard token create | list | revoke`: who may speak to a gateway that others can reach."""

from __future__ import annotations

import os

import typer

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import RuntimeSettings

app = typer.Typer(help="API tokens of the yard on this machine.", no_args_is_help=True)


def _tokens() -> Tokens:
    return Tokens(RuntimeSettings.from_env("job-api", os.environ).tokens)


@app.command()
def create(name: str, as_json: AsJson = False) -> None:
    """Make a token. It is shown once and kept as a digest only."""
    token = _tokens().create(name)
    if as_json:
        output.as_json({"name": name, "token": token})
    else:
        output.console.out(token, highlight=False)


@app.command("list")
def listing(as_json: AsJson = False) -> None:
    """Names and dates; never the tokens."""
    names = _tokens().names()
    if as_json:
        output.as_json({"tokens": [{"name": name, "created": created} for name, created in names.items()]})
        return
    for name, created in names.items():
        output.console.print(f"{name}  {created}")


@app.command()
def revoke(name: str) -> None:
    """Make a token worthless at once."""
    _tokens().revoke(name)
    output.console.print(f"revoked {name}")
