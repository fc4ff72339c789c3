"""Pages and filters: opaque cursors over the log's order, newest first."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from trainyard.common.clock import rfc3339
from trainyard.common.contract.explain import nearest
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.states import State

MAX_LIMIT = 500
_CURSOR = re.compile(r"s[0-9]{1,18}")


def encode_cursor(seq: int) -> str:
    return base64.urlsafe_b64encode(f"s{seq}".encode()).decode().rstrip("=")


def decode_cursor(text: str) -> int:
    """Raises InvalidInput for what was not made by `encode_cursor`."""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        if not _CURSOR.fullmatch(decoded):
            raise ValueError
        return int(decoded[1:])
    except (ValueError, binascii.Error):
        raise InvalidInput.one("this is not a cursor of ours", "cursor", "use `next` of the page before") from None


@dataclass(frozen=True, slots=True)
class JobFilter:
    states: tuple[State, ...] = ()
    framework: str | None = None
    owner: str | None = None
    project: str | None = None
    name: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    since: str | None = None
    """RFC 3339, inclusive; by submission."""
    until: str | None = None
    """Exclusive."""
    before: int | None = None
    limit: int = 50


class JobQuery(BaseModel):
    """The query parameters of `GET /v1/jobs`."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    state: list[str] = []
    """Repeat, or separate by commas."""
    framework: str | None = None
    owner: str | None = None
    project: str | None = None
    name: str | None = None
    label: list[str] = []
    """`key=value`; repeat: all of them must match."""
    since: str | None = None
    """RFC 3339, inclusive."""
    until: str | None = None
    """RFC 3339, exclusive."""
    cursor: str | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 50

    def parsed(self) -> JobFilter:
        """Raises InvalidInput that names the parameter."""
        return JobFilter(
            states=tuple(_state(word) for item in self.state for word in item.split(",") if word),
            framework=self.framework,
            owner=self.owner,
            project=self.project,
            name=self.name,
            labels=dict(_label(item) for item in self.label),
            since=_moment("since", self.since),
            until=_moment("until", self.until),
            before=decode_cursor(self.cursor) if self.cursor else None,
            limit=self.limit,
        )


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise InvalidInput.one(f"{word!r} is not a state", "state", nearest(word, [s.value for s in State])) from None


def _label(item: str) -> tuple[str, str]:
    key, equals, value = item.partition("=")
    if not key or not equals:
        raise InvalidInput.one(f"{item!r} is not a label", "label", "write label=key=value")
    return key, value


def _moment(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput.one(f"{text!r} is not a time", name, "RFC 3339, such as 2026-12-01T10:00:00Z") from None
    if moment.tzinfo is None:
        raise InvalidInput.one(f"{text!r} has no time zone", name, "add Z for UTC")
    try:
        return rfc3339(moment)
    except OverflowError:  # in UTC it is before the year 1 or after 9999
        raise InvalidInput.one(f"{text!r} is out of range", name, "years 1 to 9999") from None
