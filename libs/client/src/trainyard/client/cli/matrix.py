"""`yard matrix explain | show | lint`: which image and hardware fit a job and why, and the facts that this rests on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from trainyard.client import files
from trainyard.client.cli import exits, output
from trainyard.client.cli.context import AsJson, yard
from trainyard.common.contract.explain import nearest
from trainyard.common.contract.views import ExplanationView
from trainyard.common.errors import InvalidInput

_HARDWARE = ("accelerator", "product", "resources", "node_labels", "visible")
app = typer.Typer(help="Which image and hardware fit a job, and why.", no_args_is_help=True)
Framework = Annotated[str | None, typer.Option(help="Only what concerns this framework.")]


@app.command()
def explain(
    ctx: typer.Context,
    job: Annotated[Path, typer.Argument(help="A job file, or a folder with a job.yaml.")] = Path(),
    anywhere: Annotated[bool, typer.Option(help="Whatever nodes this yard has.")] = False,
    as_json: AsJson = False,
) -> None:
    """What a job file would be resolved to, with every reason; nothing is submitted. Exit code 4 when nothing fits."""
    document = files.read(job)
    with yard(ctx) as gateway:
        view = gateway.explain(document, anywhere=anywhere)
    if as_json:
        output.as_json(view)
    else:
        output.console.print(tree(str(document.get("name", job)), view))
    if not view.fits:
        raise typer.Exit(exits.INVALID)


@app.command()
def show(
    ctx: typer.Context,
    table: Annotated[
        str | None, typer.Argument(help="releases, builds, hardware … or images; absent: all, counted.")
    ] = None,
    framework: Framework = None,
    as_json: AsJson = False,
) -> None:
    """The facts, each with its source."""
    with yard(ctx) as gateway:
        view = gateway.matrix(framework)
    tables = {**view.tables, "images": view.images}
    if table is not None and table not in tables:
        raise InvalidInput.one(f"there is no table {table!r}", hint=nearest(table, list(tables)))
    if as_json:
        output.as_json({name: rows for name, rows in tables.items() if table in {None, name}})
        return
    if table is None:
        counted = [{"table": name, "rows": str(len(rows))} for name, rows in tables.items()]
        output.console.print(_table(counted))
    else:
        output.console.print(_table([{key: _cell(value) for key, value in row.items()} for row in tables[table]]))


@app.command()
def lint(
    ctx: typer.Context,
    gaps: Annotated[bool, typer.Option("--gaps", help="Name every gap, not only their number.")] = False,
    framework: Framework = None,
    as_json: AsJson = False,
) -> None:
    """What is wrong in the fact tables, and what they do not know. Exit code 1 for a fault; gaps are none."""
    with yard(ctx) as gateway:
        view = gateway.matrix(framework)
    faults = [finding for finding in view.findings if finding.fault]
    if as_json:
        output.as_json({"findings": [finding.model_dump() for finding in view.findings]})
    else:
        for finding in view.findings if gaps else faults:
            word = "[red]fault[/red]" if finding.fault else "gap  "
            output.console.print(f"{word} {finding.table}: {escape(finding.row)}: {escape(finding.text)}")
        rows = sum(len(rows) for rows in view.tables.values())
        output.console.print(f"{rows} rows, {len(faults)} faults, {len(view.findings) - len(faults)} gaps")
    if faults:
        raise typer.Exit(exits.NOT_SUCCESSFUL)


def tree(name: str, view: ExplanationView) -> Tree:
    """Every rule in the order in which it was asked, then what follows."""
    root = Tree(f"[bold]{escape(name)}[/bold]")
    for reason in view.reasons:
        mark = "[green]✓[/green]" if reason.passed else "[red]✗[/red]"
        branch = root.add(f"{mark} [bold]{reason.rule}[/bold]  {escape(reason.text)}")
        for detail in reason.details:
            branch.add(f"[dim]{escape(detail)}[/dim]")
    if not view.fits:
        end = root.add(f"[red]does not fit:[/red] {escape(view.message or '')}")
        for change in view.nearest:
            end.add(f"write  {escape(change)}")
        if any(reason.rule == "inventory" and not reason.passed for reason in view.reasons):
            end.add("[dim]`yard matrix explain --anywhere` looks past what this yard has; `yard nodes` shows it[/dim]")
        return root
    chosen = view.resolution or {}
    end = root.add(f"[green]fits:[/green] {escape(str(chosen.get('image')))}")
    roles = chosen.get("roles") or {}
    _lines(end, chosen, ("framework_version", *(() if roles else _HARDWARE), "reference"))
    for role, part in roles.items():
        _lines(end.add(f"role {escape(role)}"), part, _HARDWARE)
    for note in chosen.get("notes", ()):
        end.add(f"[yellow]note[/yellow]  {escape(note)}")
    return root


def _lines(branch: Tree, values: dict[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        if values.get(key):
            branch.add(f"{key.replace('_', ' ')}  {escape(_cell(values[key]))}")


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {item:g}" if isinstance(item, float) else f"{key}: {item}" for key, item in value.items()
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _table(rows: list[dict[str, str]]) -> Table:
    table = output.folding(heading.upper().replace("_", " ") for heading in (rows[0] if rows else ()))
    for row in rows:
        table.add_row(*(escape(cell) for cell in row.values()))
    return table
