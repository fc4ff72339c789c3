"""What every Flight server of ours has at its door: who calls, what is asked, and how a fault is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow.flight as fl

from trainyard.data.errors import InvalidData, to_flight

Who = Callable[[str | None], str]
"""The `Authorization` header → who calls. Raises Refused."""


def caller(context: Any) -> str:
    return str(context.get_middleware("who").owner)


@contextmanager
def told() -> Iterator[None]:
    """What was planned reaches the client as such; the rest as one sentence without our insides."""
    try:
        yield
    except fl.FlightError:
        raise
    except Exception as error:
        raise to_flight(error) from error


class _Caller(fl.ServerMiddleware):  # type: ignore[misc]
    def __init__(self, owner: str) -> None:
        self.owner = owner


class Door(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    def __init__(self, who: Who) -> None:
        self._who = who

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> _Caller:
        said = next((values for name, values in headers.items() if name.lower() == "authorization"), [])
        with told():
            return _Caller(self._who(said[0] if said else None))


def command(descriptor: Any) -> dict[str, Any]:
    """A path names a dataset; a command is JSON."""
    if descriptor.path:
        return {"dataset": "/".join(part.decode() for part in descriptor.path)}
    return parsed(descriptor.command or b"")


def parsed(data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise InvalidData("what was asked is no JSON object")
    return said
