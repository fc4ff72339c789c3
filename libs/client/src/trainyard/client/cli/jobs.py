"""`yard submit | list | status | cancel | suspend | resume | resize | retry | wait | init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainyard.client import files
from trainyard.client.cli import exits, output, template
from trainyard.client.cli.context import AsJson, JobIdArgument, yard
from trainyard.client.cli.watching import watch_job
from trainyard.common.contract.views import JobView
from trainyard.common.errors import InvalidInput

Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: the same key gives the same job.")]
Message = Annotated[str, typer.Option("-m", "--message", help="Why; kept with the job.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Show progress until it has ended (and been converted).")]


def submit(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A job file, or a folder with a job.yaml.")] = Path(),
    watch: Watch = False,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Submit a job file."""
    document = files.read(file)
    with yard(ctx) as gateway:
        job = gateway.submit(document, key=key)
        if watch:
            job = watch_job(gateway, job, quiet=as_json)
    _show(job, as_json, f"submitted {job.name} as job")
    if watch:
        _exit_by(job)


def listing(
    ctx: typer.Context,
    state: Annotated[list[str] | None, typer.Option(help="Only these states; repeat.")] = None,
    framework: Annotated[str | None, typer.Option()] = None,
    owner: Annotated[str | None, typer.Option()] = None,
    project: Annotated[str | None, typer.Option()] = None,
    label: Annotated[list[str] | None, typer.Option(help="key=value; repeat.")] = None,
    since: Annotated[str | None, typer.Option(help="RFC 3339, such as 2026-12-01T10:00:00Z.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=500)] = 20,
    as_json: AsJson = False,
) -> None:
    """Jobs, newest first."""
    with yard(ctx) as gateway:
        page = gateway.jobs(
            state=state, framework=framework, owner=owner, project=project, label=label, since=since, limit=limit
        )
    if as_json:
        output.as_json(page)
    elif page.jobs:
        output.console.print(output.jobs_table(page.jobs))
    else:
        output.console.print("no jobs match")


def status(ctx: typer.Context, job: JobIdArgument, as_json: AsJson = False) -> None:
    """One job: where it stands and why."""
    with yard(ctx) as gateway:
        view = gateway.job(job)
    if as_json:
        output.as_json(view)
    else:
        output.console.print(output.job_details(view))


def cancel(
    ctx: typer.Context,
    job: JobIdArgument,
    message: Message = "",
    as_json: AsJson = False,
) -> None:
    """End a job. Its processes get SIGTERM, the grace time, then SIGKILL."""
    with yard(ctx) as gateway:
        _show(gateway.cancel(job, message), as_json, "cancelling job")


def suspend(ctx: typer.Context, job: JobIdArgument, message: Message = "", as_json: AsJson = False) -> None:
    """End a job's processes for now and free what it holds; `yard resume` lets it go on from its checkpoint."""
    with yard(ctx) as gateway:
        _show(gateway.suspend(job, message), as_json, "suspending job")


def resume(ctx: typer.Context, job: JobIdArgument, message: Message = "", as_json: AsJson = False) -> None:
    """Put a suspended job back into the queue."""
    with yard(ctx) as gateway:
        _show(gateway.resume(job, message), as_json, "queued job")


def resize(
    ctx: typer.Context,
    job: JobIdArgument,
    replicas: Annotated[int, typer.Argument(help="How many there are to be.")],
    role: Annotated[str | None, typer.Option(help="Absent: the job's only role, or worker.")] = None,
    message: Message = "",
    as_json: AsJson = False,
) -> None:
    """Another number of replicas for a job that has not ended; it goes on from its checkpoint."""
    with yard(ctx) as gateway:
        view = gateway.resize(job, replicas, role, message)
    _show(view, as_json, f"{output.replicas_words(view.replicas)} asked for job")


def retry(
    ctx: typer.Context, job: JobIdArgument, key: Key = None, watch: Watch = False, as_json: AsJson = False
) -> None:
    """Submit the spec of an ended job again, as a new job; at its new size, where it was resized."""
    with yard(ctx) as gateway:
        view = gateway.retry(job, key=key)
        if watch:
            view = watch_job(gateway, view, quiet=as_json)
    size = f"{output.replicas_words(view.replicas)} as " if sum(view.replicas.values()) > 1 else ""
    _show(view, as_json, f"submitted {size}job")
    if watch:
        _exit_by(view)


def wait(
    ctx: typer.Context,
    job: JobIdArgument,
    timeout: Annotated[float | None, typer.Option(help="Seconds; then exit code 124.")] = None,
    as_json: AsJson = False,
) -> None:
    """Wait until a job has ended; exit with 0 only if it succeeded."""
    with yard(ctx) as gateway:
        view = gateway.wait(job, timeout)
    _show(view, as_json, f"{view.state.value} job")
    _exit_by(view)


def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("job.yaml"),
    framework: Annotated[str, typer.Option(help="pytorch or generic.")] = "pytorch",
    force: Annotated[bool, typer.Option("--force", help="Overwrite.")] = False,
) -> None:
    """Write a commented job file."""
    text = template.render(framework)
    target = path / "job.yaml" if path.is_dir() else path
    if target.exists() and not force:
        raise InvalidInput.one(f"{target} exists", hint="--force overwrites it")
    try:
        target.write_text(text)
    except OSError as error:
        raise InvalidInput.one(f"{target} cannot be written: {error.strerror}") from error
    output.console.print(f"wrote {target}: edit it, then `yard submit {target}`")


def register(app: typer.Typer) -> None:
    app.command("list")(listing)
    for command in (submit, status, cancel, suspend, resume, resize, retry, wait, init):
        app.command(command.__name__)(command)


def _show(job: JobView, as_json: bool, words: str) -> None:
    if as_json:
        output.as_json(job)
    else:
        output.console.print(f"{words} {job.job_id}")


def _exit_by(job: JobView) -> None:
    code = exits.of_job(job)
    if code:
        raise typer.Exit(code)
