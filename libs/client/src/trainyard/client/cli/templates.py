"""`yard templates list | show | render | run | publish | delete`: job files with places to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table

from trainyard.client import files
from trainyard.client.cli import exits, output
from trainyard.client.cli.context import AsJson, yard
from trainyard.client.cli.watching import watch_job
from trainyard.common.contract.model import STORED
from trainyard.common.contract.parameters import Parameter, expected
from trainyard.common.contract.views import TemplateView
from trainyard.common.errors import InvalidInput

app = typer.Typer(help="Job templates: fill in a few values, get a job.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="TEMPLATE", help="A name from `yard templates list`.")]
Version = Annotated[str | None, typer.Option("--version", help="Default: the newest.")]
Language = Annotated[str, typer.Option("--language", envvar="TRAINYARD_LANGUAGE", help="en or zh.")]
Set = Annotated[list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="A parameter; repeat.")]
Values = Annotated[Path | None, typer.Option("--values", help="A YAML file of parameters; --set goes before it.")]


@app.command("list")
def listing(ctx: typer.Context, language: Language = "en", as_json: AsJson = False) -> None:
    """What there is, those that ship with Trainyard and those that somebody published."""
    with yard(ctx) as gateway:
        page = gateway.templates()
    if as_json:
        output.as_json(page)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("TEMPLATE", "VERSION", "FRAMEWORK", "TASK", "FROM", "TITLE"):
        table.add_column(heading, no_wrap=heading != "TITLE")
    for item in page.templates:
        origin = "built in" if item.built_in else item.owner or ""
        table.add_row(item.name, item.version, item.framework, item.task, origin, _say(item.title, language))
    output.console.print(table)


@app.command()
def show(
    ctx: typer.Context, name: Name, version: Version = None, language: Language = "en", as_json: AsJson = False
) -> None:
    """One template: what may be filled in, and what would do."""
    with yard(ctx) as gateway:
        view = gateway.template(name, version)
    if as_json:
        output.as_json(view)
        return
    output.console.print(f"[bold]{view.name}[/bold] {view.version}", _say(view.title, language), sep="  ")
    output.console.print(_say(view.description, language), markup=False)
    output.console.print(_parameters(view, language))
    if len(view.versions) > 1:
        output.console.print(f"versions: {', '.join(view.versions)}")


@app.command()
def render(
    ctx: typer.Context,
    name: Name,
    settings: Set = None,
    values: Values = None,
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Print the job file that comes of the parameters; `yard submit` takes it."""
    with yard(ctx) as gateway:
        made = gateway.render_template(name, filled_in(settings, values), version)
    if as_json:
        output.as_json(made)
        return
    output.console.out(yaml.safe_dump(made.job, sort_keys=False, allow_unicode=True), end="", highlight=False)
    for parameter in made.left_out:
        output.errors.print(f"{parameter} is auto: what runs in the job decides", markup=False)


@app.command()
def run(
    ctx: typer.Context,
    name: Name,
    settings: Set = None,
    values: Values = None,
    version: Version = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show progress until it has ended.")] = False,
    key: Annotated[str | None, typer.Option("--key", help="Idempotency key: the same key gives the same job.")] = None,
    as_json: AsJson = False,
) -> None:
    """Render a template and submit the job."""
    with yard(ctx) as gateway:
        made = gateway.render_template(name, filled_in(settings, values), version)
        job = gateway.submit(made.job, key=key)
        if watch:
            job = watch_job(gateway, job, quiet=as_json)
    if as_json:
        output.as_json(job)
    else:
        output.console.print(f"submitted {job.name} as job {job.job_id}")
    if watch and (code := exits.of_job(job)):
        raise typer.Exit(code)


@app.command()
def publish(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A template in YAML or JSON.")],
    as_json: AsJson = False,
) -> None:
    """Publish a template for everybody. A version never changes: another content needs another version."""
    document = files.read_document(file)
    document.setdefault("folder", str(file.resolve().parent))
    with yard(ctx) as gateway:
        view = gateway.publish_template(document)
    if as_json:
        output.as_json(view)
    else:
        output.console.print(f"published {view.name} {view.version}: `yard templates run {view.name}`")


@app.command()
def delete(ctx: typer.Context, name: Name, version: Version = None, as_json: AsJson = False) -> None:
    """Delete a published version, or without --version all of the name's. Those that ship with Trainyard stay."""
    with yard(ctx) as gateway:
        page = gateway.delete_template(name, version)
    if as_json:
        output.as_json(page)
        return
    for item in page.templates:
        output.console.print(f"deleted {item.name} {item.version}")


def filled_in(settings: list[str] | None, file: Path | None) -> dict[str, Any]:
    """What --values and --set say. A relative `workdir` counts from the file, or from where the command is given."""
    found = files.read_document(file) if file is not None else {}
    _anchor(found, file.parent if file is not None else Path())
    given: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise InvalidInput.one(f"{setting!r} sets nothing", "--set", "NAME=VALUE such as lr=0.1")
        given[name.strip()] = value
    _anchor(given, Path())
    return {**found, **given}


def _anchor(values: dict[str, Any], folder: Path) -> None:
    if isinstance(values.get("workdir"), str) and values["workdir"] != "auto":
        values["workdir"] = files.absolute(folder, values["workdir"])


def _parameters(view: TemplateView, language: str) -> Table:
    table = output.folding(("PARAMETER", "DEFAULT", "VALUES", "WHAT IT DOES"))
    for name, document in view.parameters.items():
        parameter = Parameter.model_validate(document, extra="ignore", context=STORED)
        default = parameter.default
        shown = "required" if default is None else "auto" if parameter.may_be_auto else str(default)
        words = _say(document["help"], language) + (" [dim](advanced)[/dim]" if parameter.advanced else "")
        table.add_row(name, shown, expected(parameter), words)
    return table


def _say(words: dict[str, str], language: str) -> str:
    return words.get(language) or words["en"]
