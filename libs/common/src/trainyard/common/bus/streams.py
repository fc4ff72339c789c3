"""The three streams, as values, and how a server is brought to have them.

Whoever connects first creates them; a stream that differs from what stands here is updated, so a new release needs no
migration step. What JetStream cannot change in place (storage, retention) is an error that names both sides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NotFoundError

from trainyard.common.contract import subjects
from trainyard.common.errors import TrainyardError, Unavailable

log = structlog.get_logger()

DAY = 86_400.0

STREAMS: tuple[StreamConfig, ...] = (
    StreamConfig(
        name=subjects.EVENTS_STREAM,
        description="Events of jobs and conversions: the truth",
        subjects=[*subjects.EVENT_SUBJECTS, subjects.REPLAY_SUBJECTS],
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,  # a full stream refuses; it never forgets the oldest jobs
        max_age=0,
        duplicate_window=120,
        allow_direct=True,
    ),
    StreamConfig(
        name=subjects.TELEMETRY_STREAM,
        description="Samples of devices; bounded, may be lost",
        subjects=list(subjects.TELEMETRY_SUBJECTS),
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_age=3600,
        max_bytes=64 * 2**20,
        duplicate_window=10,
        allow_direct=True,
    ),
    StreamConfig(
        name=subjects.DEADLETTER_STREAM,
        description="Messages that a consumer gave up, with the reason",
        subjects=list(subjects.DEADLETTER_SUBJECTS),
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_age=30 * DAY,
        max_bytes=256 * 2**20,
        duplicate_window=120,
        allow_direct=True,
    ),
)

_COMPARED = (
    "description", "subjects", "retention", "storage", "discard", "max_age", "max_bytes", "duplicate_window",
    "allow_direct",
)  # fmt: skip
_FIXED = ("storage", "retention")


@dataclass(frozen=True, slots=True)
class Drift:
    field: str
    found: object
    wanted: object


def drift(found: StreamConfig, wanted: StreamConfig) -> list[Drift]:
    """Where an existing stream differs. Limits that mean "none" are written in several ways (None, 0, -1)."""
    differences = []
    for name in _COMPARED:
        there, here = getattr(found, name), getattr(wanted, name)
        if name in {"max_age", "max_bytes"} and (there or 0) <= 0 and (here or 0) <= 0:
            continue
        if name == "subjects":
            there, here = sorted(there or []), sorted(here or [])
        if there != here:
            differences.append(Drift(name, there, here))
    return differences


async def ensure(client: Client, wanted: Sequence[StreamConfig] = STREAMS, *, patience: float = 30.0) -> None:
    """Create or mend streams; waits for JetStream to be up. Raises Unavailable or TrainyardError."""
    js = client.jetstream(timeout=5)
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        try:
            for stream in wanted:
                await _ensure_one(js, stream)
            return
        except APIError as error:
            if error.code != 503:
                raise TrainyardError(f"nats-server refuses our streams: {error.description}") from error
            last: Exception = error
        except (NatsError, TimeoutError) as error:
            last = error
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(f"JetStream is not ready: {last}") from last
        await asyncio.sleep(0.2)


async def _ensure_one(js: JetStreamContext, wanted: StreamConfig) -> None:
    try:
        found = (await js.stream_info(str(wanted.name))).config
    except NotFoundError:
        await js.add_stream(wanted)
        return
    differences = drift(found, wanted)
    fixed = [item for item in differences if item.field in _FIXED]
    if fixed:
        raise TrainyardError(
            f"stream {wanted.name} has {fixed[0].field} {fixed[0].found}, {fixed[0].wanted} is needed, and JetStream "
            "cannot change it: move the stream away or use another nats-server"
        )
    if differences:
        log.info("stream is brought up to date", stream=wanted.name, fields=[item.field for item in differences])
        await js.update_stream(wanted)
