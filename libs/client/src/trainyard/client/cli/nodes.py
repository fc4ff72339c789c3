"""`yard nodes`: the machines that jobs may run on."""

from __future__ import annotations

import typer
from rich.markup import escape
from rich.table import Table

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson, yard
from trainyard.common.contract.quantities import human_bytes


def nodes(ctx: typer.Context, as_json: AsJson = False) -> None:
    """The machines that jobs may run on, with their cores, memory and accelerators."""
    with yard(ctx) as gateway:
        page = gateway.nodes()
    if as_json:
        output.as_json(page)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("NODE", "BACKEND", "MACHINE", "CORES", "MEMORY", "ACCELERATORS", ""):
        table.add_column(heading)
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
            f"[red]{escape(node.fault)}[/red]" if node.fault else "",
        )
    output.console.print(table if page.nodes else "no launcher has told of any node yet")


def register(app: typer.Typer) -> None:
    app.command()(nodes)
