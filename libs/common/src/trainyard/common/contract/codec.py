"""Between typed events and the wire. The bus calls this; nobody else touches headers or bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from trainyard.common.clock import rfc3339
from trainyard.common.contract.envelope import Envelope, from_message, to_headers
from trainyard.common.contract.event import Event
from trainyard.common.contract.events import EVENTS
from trainyard.common.contract.subjects import Address, parse_subject
from trainyard.common.errors import Permanent, TrainyardError

E = TypeVar("E", bound=Event, covariant=True)


@dataclass(frozen=True, slots=True)
class Recorded(Generic[E]):
    """An event as the log holds it. `seq` is its stream sequence; `time` is RFC 3339."""

    seq: int
    event: E
    id: str
    source: str
    time: str
    traceparent: str | None = None


def address_of(event: Event) -> Address:
    return Address(event.entity, event.entity_id(), event.kind)


def encode(
    event: Event, *, source: str, now: datetime, traceparent: str | None = None
) -> tuple[str, dict[str, str], bytes]:
    """Subject, headers and payload of an event."""
    address = address_of(event)
    envelope = Envelope(
        id=event.event_id(),
        source=source,
        type=address.type,
        data=event.dump(),
        subject=address.entity_id,
        time=rfc3339(now),
        traceparent=traceparent,
    )
    return address.subject, to_headers(envelope), envelope.data


def decode(subject: str, headers: Mapping[str, str] | None, payload: bytes, seq: int = 0) -> Recorded[Any]:
    """Raises Permanent for what no retry can make readable: the caller dead-letters it."""
    try:
        address = parse_subject(subject)
        model = EVENTS[address.entity][address.kind]
        envelope = from_message(headers, payload)
        event = model.parse(envelope.data)
    except (KeyError, ValueError, ValidationError, TrainyardError) as error:
        raise Permanent(f"unreadable message on {subject}: {error}") from error
    return Recorded(seq, event, envelope.id, envelope.source, envelope.time or "", envelope.traceparent)
