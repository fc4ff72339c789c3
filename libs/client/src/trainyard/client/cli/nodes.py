"""`yard nodes`, `avoid` and `forgive` below it: the machines that jobs may run on, and those they keep away from."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson, yard
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.quantities import human_bytes

app = typer.Typer(help="The machines that jobs may run on, with their cores, memory and accelerators.")
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="The node's name.")]


@app.callback(invoke_without_command=True)
def nodes(ctx: typer.Context, as_json: AsJson = False) -> None:
    """The machines that jobs may run on, with their cores, memory and accelerators."""
    if ctx.invoked_subcommand is not None:
        return
    with yard(ctx) as gateway:
        page = gateway.nodes()
    if as_json:
        output.as_json(page)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("NODE", "BACKEND", "MACHINE", "CORES", "MEMORY", "ACCELERATORS", ""):
        table.add_column(heading)
    now = time.time()
    for node in page.nodes:
        groups = [
            f"{group.count} × {group.product}{f' (driver {group.driver})' if group.driver else ''}"
            for group in node.accelerators
        ]
        accelerators = ", ".join([*groups, *(f"{count:g} × {name}" for name, count in node.resources.items())])
        table.add_row(
            escape(node.name),
            node.backend,
            node.machine,
            f"{node.cpu:g}",
            human_bytes(node.memory),
            escape(accelerators) or "[dim]none[/dim]",
            ", ".join(f"[red]{escape(words)}[/red]" for words in (node.fault, avoided_words(node, now)) if words),
        )
    output.console.print(table if page.nodes else "no launcher has told of any node yet")


@app.command()
def avoid(
    ctx: typer.Context,
    node: NodeArgument,
    span: Annotated[str, typer.Option("--for", help="For how long, such as 90m, 2h, 7d.")] = "6h",
    why: Annotated[str, typer.Option(help="For the others to read.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let no job begin on a node for a while; what runs there goes on."""
    with yard(ctx) as gateway:
        _show(gateway.avoid_node(node, span, why), as_json)


@app.command()
def forgive(
    ctx: typer.Context,
    node: NodeArgument,
    why: Annotated[str, typer.Option(help="For the others to read.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let jobs begin on a node again, and forget what it was blamed for."""
    with yard(ctx) as gateway:
        _show(gateway.forgive_node(node, why), as_json)


def avoided_words(node: Node, now: float) -> str:
    """Until when jobs keep away from a node, in this machine's time; empty where they do not."""
    if node.avoided_until is None or node.avoided_until <= now:
        return ""
    until = datetime.fromtimestamp(node.avoided_until).astimezone()
    shown = until.strftime("%H:%M" if node.avoided_until - now < 12 * 3600 else "%d %b %H:%M")
    return f"avoided until {shown}: {node.avoided_for}" if node.avoided_for else f"avoided until {shown}"


def _show(node: Node, as_json: bool) -> None:
    if as_json:
        output.as_json(node)
    else:
        words = avoided_words(node, time.time()) or "jobs may begin there again"
        output.console.print(f"{node.name}: {words}", markup=False)
