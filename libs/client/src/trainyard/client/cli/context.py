"""What the global options say, handed to every command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from trainyard.client.sdk import Yard


@dataclass(frozen=True, slots=True)
class Context:
    url: str | None
    token: str | None

    def yard(self) -> Yard:
        return Yard(self.url, self.token)


def yard(ctx: typer.Context) -> Yard:
    """The gateway that the global options name."""
    context: Context = ctx.obj
    return context.yard()


AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
JobIdArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]
