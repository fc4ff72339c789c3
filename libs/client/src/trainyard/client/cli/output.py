"""How the command speaks: rich on a terminal, plain in a pipe, JSON when asked. Errors go to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trainyard.common.contract.quantities import human_seconds
from trainyard.common.contract.views import ConversionView, JobView
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.states import State

# In a pipe there is no width to fold to: scripts and `grep` get whole lines.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
errors = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 200)

COLOURS = {
    State.SUCCEEDED: "green",
    State.FAILED: "red",
    State.LOST: "red",
    State.REJECTED: "red",
    State.CANCELLED: "yellow",
    State.CANCELLING: "yellow",
    State.RUNNING: "cyan",
    State.STARTING: "cyan",
}


def as_json(value: BaseModel | list[Any] | dict[str, Any]) -> None:
    """One JSON document on stdout, for scripts."""
    document = value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else value
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


def error(problem: BaseException) -> None:
    if isinstance(problem, InvalidInput) and len(problem.problems) > 1:
        errors.print(f"[red]error:[/red] {len(problem.problems)} faults")
        for item in problem.problems:
            errors.print(f"  {item}", markup=False)
        return
    errors.print("[red]error:[/red]", end=" ")
    errors.print(str(problem) or type(problem).__name__, markup=False)


def state(value: State | str) -> str:
    word = State(value) if value in set(State) else value
    colour = COLOURS.get(word) if isinstance(word, State) else None
    return f"[{colour}]{value}[/{colour}]" if colour else str(value)


def unconverted(job: JobView) -> str | None:
    """Why a job that asked to be converted never will be: nothing that it wrote was kept. None: that is not so."""
    if job.state is not State.SUCCEEDED or not job.spec.get("convert") or (job.result or {}).get("outputs"):
        return None
    return "nothing to convert: the results ended with the pods; TRAINYARD_OUTPUT_CLAIM names a claim that keeps them"


def folding(headings: Iterable[str]) -> Table:
    """A table without rows yet, whose cells fold where the line ends."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def jobs_table(jobs: list[JobView]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("JOB", "NAME", "FRAMEWORK", "STATE", "PROGRESS", "AGE", "OWNER"):
        table.add_column(heading, no_wrap=True, min_width=26 if heading == "JOB" else None)
    for job in jobs:
        table.add_row(
            job.job_id,
            job.name,
            job.framework,
            state(job.state),
            progress_words(job.progress),
            age(job),
            Text(job.owner),
        )
    return table


def progress_words(progress: dict[str, Any] | None) -> str:
    """`epoch 3/10  loss 0.21`."""
    if not progress:
        return ""
    words = []
    for name, total in (("epoch", "epochs"), ("step", "steps")):
        if progress.get(name) is not None:
            words.append(f"{name} {progress[name]}" + (f"/{progress[total]}" if progress.get(total) else ""))
            break
    metrics = progress.get("metrics", {})
    words += [f"{name} {metrics[name]:.4g}" for name in ("loss", "accuracy") if metrics.get(name) is not None]
    return "  ".join(words)


def age(job: JobView) -> str:
    submitted = datetime.fromisoformat(job.submitted_at)
    return human_seconds(max(0.0, (datetime.now(UTC) - submitted).total_seconds()))


def took(start: str | None, end: str | None) -> str:
    if not start or not end:
        return ""
    return human_seconds((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def restart_words(job: JobView) -> str:
    """What each budget has paid, of what it has, and why the last attempt that ended did."""
    last = job.restarts
    if last is None:
        return ""
    budgets = job.spec.get("retries", {})
    paid = [f"{count} of {budgets.get(name, '?')} {name}" for name, count in sorted(last.get("used", {}).items())]
    why = f"attempt {last['attempt']} ended: {last['message']}"
    blamed = ", ".join(item["node"] for item in last.get("blamed", ()))
    return "; ".join(
        [*paid, *([why] if last["message"] != job.message else []), *([f"to blame: {blamed}"] if blamed else [])]
    )


def replicas_words(replicas: dict[str, int]) -> str:
    """`1 × chief, 4 × worker`."""
    return ", ".join(f"{count} × {role}" for role, count in sorted(replicas.items()))


def size_words(job: JobView) -> str:
    """How many replicas it has, and how many it is to have."""
    now, asked = replicas_words(job.replicas_now), replicas_words(job.replicas)
    return f"{now} now, {asked} asked for" if now and now != asked and not job.state.terminal else now or asked


def job_details(job: JobView) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    result = job.result or {}
    rows = {
        "job": job.job_id,
        "name": job.name,
        "state": state(job.state) + (f" ({job.reason})" if job.reason else ""),
        "message": job.message,
        "framework": job.framework,
        "image": (job.resolution or {}).get("image"),
        "attempt": str(job.attempt) if job.attempt else None,
        "replicas": size_words(job) if sum(job.replicas.values()) > 1 or job.replicas_now else None,
        "restarts": restart_words(job),
        "progress": progress_words(job.progress),
        "submitted": job.submitted_at,
        "ran for": took(job.started_at, job.ended_at),
        "outputs": result.get("outputs"),
        "retry of": job.retry_of,
    }
    for name, value in rows.items():
        if value:
            # A message may hold a log line, and that [brackets].
            table.add_row(name, value if name == "state" else Text(value))
    for conversion in job.conversions:
        table.add_row("conversion", conversion_words(conversion))
    return table


def conversion_words(conversion: ConversionView) -> Text:
    words = Text.from_markup(f"{conversion.conversion_id}  {state(conversion.state)}")
    if conversion.state == "running":
        words.append(f"  {conversion.step} ({conversion.fraction:.0%})")
    if conversion.state == "failed":
        words.append(f"  {conversion.message}")
    return words
