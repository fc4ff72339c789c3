"""`yard logs | events`: what happened, or what happens right now."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson, JobIdArgument, yard
from trainyard.common.contract.views import EventView

Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")]


def logs(
    ctx: typer.Context,
    job: JobIdArgument,
    follow: Follow = False,
    rank: Annotated[list[int] | None, typer.Option("--rank", "-r", help="Only these ranks; repeat.")] = None,
    attempt: Annotated[int | None, typer.Option(help="Default: the newest.")] = None,
    tail: Annotated[int | None, typer.Option("--tail", "-n", min=0, help="Only the last N lines of each rank.")] = None,
    as_json: AsJson = False,
) -> None:
    """What the ranks wrote to stdout and stderr."""
    wanted: dict[str, Any] = {"rank": rank, "attempt": attempt, "tail": tail}
    params = {name: value for name, value in wanted.items() if value is not None}
    with yard(ctx) as gateway:
        for line in gateway.follow_logs(job, follow=str(follow).lower(), **params):
            if as_json:
                output.as_json(line)
            elif "gap" in line:
                output.errors.print(f"[yellow]{line['gap']}[/yellow]")
            else:
                sys.stdout.write(f"[{line['rank']}] {line['text']}\n")
            if follow:
                sys.stdout.flush()


def events(ctx: typer.Context, job: JobIdArgument, follow: Follow = False, as_json: AsJson = False) -> None:
    """The job's events from the log."""
    with yard(ctx) as gateway:
        if not follow:
            for event in gateway.events(job).events:
                show(event, as_json)
            return
        for event in gateway.follow_events(job):
            show(event, as_json)


def register(app: typer.Typer) -> None:
    app.command("logs")(logs)
    app.command("events")(events)


def show(event: EventView, as_json: bool) -> None:
    if as_json:
        output.as_json(event)
        return
    words = event.data.get("message") or output.progress_words(event.data)
    blank = " " * (12 - len(event.kind))  # of the word alone: its colour has no width
    line = Text.from_markup(f"{event.time}  {event.seq:>7}  {output.state(event.kind)}{blank}  ")
    output.console.print(line.append(words), highlight=False)
