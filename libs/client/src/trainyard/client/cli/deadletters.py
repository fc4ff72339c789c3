"""`yard deadletters list | show | replay`: messages that a service gave up, with the reason."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.text import Text

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson
from trainyard.common.runtime import logging
from trainyard.common.runtime.settings import RuntimeSettings

app = typer.Typer(help="Messages that a service gave up.", no_args_is_help=True)
T = TypeVar("T")

if TYPE_CHECKING:
    from trainyard.common.bus.nats import NatsBus
    from trainyard.common.bus.port import DeadLetter


def _with_bus(work: Callable[[NatsBus], Awaitable[T]]) -> T:
    # The only commands that speak NATS: the others need not wait for its client to be imported.
    from trainyard.common.bus.nats import NatsBus  # noqa: PLC0415

    runtime = RuntimeSettings.from_env("job-api", os.environ)
    logging.configure("yard", level="error")  # stdout is the answer's alone

    async def run() -> T:
        bus = await NatsBus.connect(
            runtime.nats_url,
            source="/trainyard/cli",
            user=runtime.nats_user,
            password=runtime.nats_password,
            patience=3,
        )
        try:
            return await work(bus)
        finally:
            await bus.close()

    return asyncio.run(run())


def _document(letter: DeadLetter) -> dict[str, object]:
    return {
        "number": letter.seq,
        "consumer": letter.consumer,
        "reason": letter.reason,
        "subject": letter.subject,
        "event_seq": letter.event_seq,
        "deliveries": letter.deliveries,
        "time": letter.time,
        "headers": dict(letter.headers),
        "payload": letter.payload.decode(errors="replace"),
    }


@app.command("list")
def listing(limit: int = 50, as_json: AsJson = False) -> None:
    """Newest first."""
    letters = _with_bus(lambda bus: bus.dead_letters(limit=limit))
    if as_json:
        output.as_json({"dead_letters": [_document(letter) for letter in letters]})
        return
    table = output.folding(("NUMBER", "TIME", "CONSUMER", "SUBJECT", "REASON"))
    for letter in letters:
        table.add_row(str(letter.seq), letter.time, letter.consumer, letter.subject, Text(letter.reason))
    output.console.print(table if letters else "no dead letters")


@app.command()
def show(number: int) -> None:
    """One dead letter, whole, as JSON."""
    output.as_json(_document(_with_bus(lambda bus: bus.dead_letter(number))))


@app.command()
def replay(number: int) -> None:
    """Hand the message to its consumer once more."""
    _with_bus(lambda bus: bus.replay(number))
    output.console.print(f"replayed {number}")
