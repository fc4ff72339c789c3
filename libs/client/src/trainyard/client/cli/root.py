"""The root of the command: global options, groups, and the boundary where errors become exit codes."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from trainyard.client.cli import (
    convert,
    data,
    deadletters,
    deploy,
    exits,
    frameworks,
    images,
    jobs,
    k8s,
    local,
    matrix,
    nodes,
    output,
    report,
    serve,
    streams,
    templates,
    tokens,
)
from trainyard.client.cli.context import Context
from trainyard.common.errors import TrainyardError

app = typer.Typer(
    name="yard",
    help="Run, convert and watch machine-learning jobs of every framework.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    ctx: typer.Context,
    url: Annotated[str | None, typer.Option(help="The gateway; default: TRAINYARD_URL, then this machine's.")] = None,
    token: Annotated[str | None, typer.Option(help="An API token; default: TRAINYARD_TOKEN.")] = None,
) -> None:
    ctx.obj = Context(url, token)


for module in (jobs, streams, convert, report, serve, deploy, frameworks, local):
    module.register(app)
app.add_typer(data.app, name="data")
app.add_typer(nodes.app, name="nodes")
app.add_typer(images.app, name="images")
app.add_typer(matrix.app, name="matrix")
app.add_typer(templates.app, name="templates")
app.add_typer(k8s.app, name="k8s")
app.add_typer(tokens.app, name="token")
app.add_typer(deadletters.app, name="deadletters")


def run() -> None:
    """What the console script calls. Never shows a traceback for what a person can mend."""
    signal.signal(signal.SIGINT, lambda *_: sys.exit(exits.INTERRUPTED))
    try:
        app()
    except (TrainyardError, TimeoutError) as error:
        output.error(error)
        sys.exit(exits.code_of(error))
