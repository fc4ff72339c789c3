"""A deployment: tried under a name of its own, then brought into its place and asked again, or taken back.

What a server serves stays until the new version has answered there with the framework's own numbers. If it then fails in its
place all the same, the former version is served again, and that is looked at rather than assumed.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from trainyard.common.errors import TrainyardError
from trainyard.converter.deploying.model import Converted
from trainyard.converter.deploying.places import Place, Undo
from trainyard.converter.deploying.server import ModelServer

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Deployed:
    name: str
    version: int
    before: tuple[int, ...]
    """Versions that were served until then."""
    now: tuple[int, ...]
    server: str
    max_abs_error: float
    """From the framework's own numbers."""
    seconds: float
    """Of the one request that asked for them, in its place."""


def deploy(server: ModelServer, place: Place, model: Converted, name: str, keep: int, tell: Tell) -> Deployed:
    """Raises TrainyardError that says what the server refuses and what it serves now."""
    before = server.versions(name)
    tell(f"trying the model under another name at {server.url}")
    _try(server, place, model, f"{name}-trial-{secrets.token_hex(4)}")
    tell(f"bringing it to {name}")
    undo: Undo | None = None
    try:
        version, undo = place.bring(model, name, keep)
        error, seconds = _ask(server, model, name, version)
    except BaseException as fault:
        told = _roll_back(server, name, before, undo)
        if not isinstance(fault, TrainyardError):
            raise
        raise TrainyardError(f"{fault}; {told}") from fault
    about = " ".join(server.about())
    return Deployed(name, version, before, server.versions(name), about, error, seconds)


def _try(server: ModelServer, place: Place, model: Converted, trial: str) -> None:
    """Leaves nothing behind."""
    version, undo = place.bring(model, trial, 1)
    try:
        _ask(server, model, trial, version)
    finally:
        with suppress(TrainyardError):
            server.unload(trial)
        undo()


def _ask(server: ModelServer, model: Converted, name: str, version: int) -> tuple[float, float]:
    began = time.perf_counter()
    outputs = server.infer(name, model.proof.inputs, version)
    return model.error(outputs), time.perf_counter() - began


def _roll_back(server: ModelServer, name: str, before: tuple[int, ...], undo: Undo | None) -> str:
    """What is served now, in words."""
    try:
        if undo is not None:
            undo()
        if not before:
            server.unload(name)
        elif undo is not None or server.versions(name) != before:
            server.load(name)
        now = server.versions(name)
    except TrainyardError as error:
        return f"what was served before did not come back: {error}"
    if now != before:
        return f"served were the versions {_words(before)}, now it is {_words(now)}"
    return f"version {_words(before)} is served as before" if before else f"nothing is served as {name!r}, as before"


def _words(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, versions)) or "none"
