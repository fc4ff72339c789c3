"""Progress of a job and of its conversion as bars, from its events, until both have ended."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from trainyard.client.cli import output
from trainyard.client.sdk import Yard
from trainyard.common.contract.views import EventView, JobView
from trainyard.common.lifecycle.states import State


def watch_job(gateway: Yard, job: JobView, *, quiet: bool = False) -> JobView:
    """Shows the job to its end and, if it succeeded and asks for one, its conversion. Returns the last view."""
    with _progress(quiet) as progress:
        bar = progress.add_task(job.name, total=1.0, words="submitted")
        for event in gateway.follow_events(job.job_id):
            _job_step(progress, bar, event)
        view = gateway.wait(job.job_id)
        why_not = output.unconverted(view)
        if why_not is not None:
            progress.add_task("convert", total=1.0, words=why_not)
        elif view.state is State.SUCCEEDED and view.spec.get("convert"):
            conversion_id = gateway.conversion_of(job.job_id).conversion_id
            watch_conversion(gateway, conversion_id, progress)
            gateway.wait_conversion(conversion_id)
            view = gateway.job(job.job_id)
    return view


def watch_conversion(gateway: Yard, conversion_id: str, progress: Progress) -> None:
    bar = progress.add_task("convert", total=1.0, words="requested")
    for event in gateway.follow_conversion(conversion_id):
        if event.kind == "progress":
            words = event.data.get("message") or event.data["step"]
            progress.update(bar, completed=event.data["fraction"], words=words)
        elif event.kind in {"succeeded", "failed"}:
            words = event.data.get("message") or event.kind
            progress.update(bar, completed=1.0, words=words)


def _job_step(progress: Progress, bar: TaskID, event: EventView) -> None:
    data = event.data
    if event.kind == "progress":
        done, total = (
            (data.get("epoch"), data.get("epochs")) if data.get("epochs") else (data.get("step"), data.get("steps"))
        )
        fraction = done / total if done is not None and total else None
        progress.update(bar, completed=fraction, words=output.progress_words(data))
    elif event.kind == "succeeded":
        progress.update(bar, completed=1.0, words="succeeded")
    else:
        # Of the image while that is built; training begins at nothing again.
        progress.update(bar, completed=data.get("fraction") or 0.0, words=data.get("message") or event.kind)


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[words]}", markup=False),
        console=output.errors,
        disable=quiet,
    )
