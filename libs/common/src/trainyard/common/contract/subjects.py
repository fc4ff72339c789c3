"""Names of streams, subjects and types, in one place.

    trainyard.job.<job_id>.<event>                 stream trainyard-events
    trainyard.conversion.<conversion_id>.<event>   stream trainyard-events
    trainyard.node.<node>.<event>                  stream trainyard-events
    trainyard.device.<node>.<event>                stream trainyard-telemetry (bounded, may be lost)
    trainyard.replay.<consumer>                    stream trainyard-events: a dead letter that its consumer gets again
    trainyard.deadletter.<consumer>                stream trainyard-deadletters
    trainyard.command.<resource>.<verb>            request/reply, no stream
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX = "trainyard"
EVENTS_STREAM = "trainyard-events"
TELEMETRY_STREAM = "trainyard-telemetry"
DEADLETTER_STREAM = "trainyard-deadletters"
EVENT_SUBJECTS = (f"{PREFIX}.job.>", f"{PREFIX}.conversion.>", f"{PREFIX}.node.>")
TELEMETRY_SUBJECTS = (f"{PREFIX}.device.>",)
DEADLETTER_SUBJECTS = (f"{PREFIX}.deadletter.>",)
REPLAY_SUBJECTS = f"{PREFIX}.replay.>"
TYPE_PREFIX = "dev.trainyard"
VERSION = "v1"


def token(text: str) -> str:
    """`text` as one NATS subject token: what NATS reserves becomes `_`."""
    return re.sub(r"[^A-Za-z0-9_\-]", "_", text) or "_"


@dataclass(frozen=True, slots=True)
class Address:
    """Where an event stands: the entity, its id and the kind of event."""

    entity: str
    entity_id: str
    kind: str

    @property
    def subject(self) -> str:
        return f"{PREFIX}.{self.entity}.{token(self.entity_id)}.{self.kind}"

    @property
    def type(self) -> str:
        return f"{TYPE_PREFIX}.{self.entity}.{self.kind}.{VERSION}"


def parse_subject(subject: str) -> Address:
    """Raises ValueError for a subject that is not an event's."""
    parts = subject.split(".")
    if len(parts) != 4 or parts[0] != PREFIX:
        raise ValueError(f"{subject!r} is not an event subject of Trainyard")
    return Address(parts[1], parts[2], parts[3])


def of_entity(entity: str, entity_id: str) -> str:
    """Every event of one job: the filter of the optimistic append."""
    return f"{PREFIX}.{entity}.{token(entity_id)}.*"


def of_kind(entity: str, kind: str) -> str:
    """One kind of event of every job: what a consumer filters."""
    return f"{PREFIX}.{entity}.*.{kind}"


def command(kind: str) -> str:
    return f"{PREFIX}.command.{kind}"


def commands_of(kind: str) -> str:
    """Every command of the resource of one: they are answered in the same place."""
    return f"{PREFIX}.command.{kind.partition('.')[0]}.*"


def replay(consumer: str) -> str:
    return f"{PREFIX}.replay.{token(consumer)}"


def deadletter(consumer: str) -> str:
    return f"{PREFIX}.deadletter.{token(consumer)}"
