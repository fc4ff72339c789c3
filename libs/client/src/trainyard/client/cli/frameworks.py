"""`yard frameworks`: what a job file may name, with modes and roles."""

from __future__ import annotations

import typer
from rich.table import Table

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson
from trainyard.common.contract.frameworks import FRAMEWORKS


def frameworks(as_json: AsJson = False) -> None:
    """The frameworks that a job file may name, their modes (the first is the default) and roles."""
    if as_json:
        rows = [
            {
                "name": name,
                "title": row.title,
                "modes": dict(row.modes),
                "roles": list(row.roles),
                "elastic": sorted(row.elastic),
            }
            for name, row in FRAMEWORKS.items()
        ]
        output.as_json({"frameworks": rows})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("FRAMEWORK", "MODES", "ROLES", ""):
        table.add_column(heading, no_wrap=bool(heading) and heading != "MODES")
    for name, row in FRAMEWORKS.items():
        table.add_row(name, ", ".join(row.modes), ", ".join(row.roles) or "any", row.title)
    output.console.print(table)


def register(app: typer.Typer) -> None:
    app.command()(frameworks)
