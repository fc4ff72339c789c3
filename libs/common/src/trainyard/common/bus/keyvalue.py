"""Small documents by key: what is neither an event nor a projection of the log (templates, the inventory of nodes).

A revision is the bucket's sequence at which a key was written last. Whoever changes what it has read writes with the
revision that it saw; of two such writers one wins. Only the newest value of a key is kept. `bus.nats_keyvalue` (JetStream
KV, so other programs read the same buckets) and `bus.memory_keyvalue` pass one suite, `tests/bus_contract/test_keyvalue`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from trainyard.common.errors import InvalidInput

_BUCKET = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY = re.compile(r"[-/_=A-Za-z0-9]+(\.[-/_=A-Za-z0-9]+)*")
_LONGEST_KEY = 500


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Gone:
    """A key that was deleted while somebody watched."""

    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What a watcher had not seen, by revision. `caught_up`: nothing more was waiting. `anew`: forget what you knew, the
    bucket was made anew; true for the first ones as well."""

    items: tuple[Entry | Gone, ...]
    caught_up: bool
    anew: bool = False


class KeyValue(Protocol):
    async def get(self, key: str) -> Entry | None:
        """None: there is no such key."""
        ...

    async def put(self, key: str, value: bytes, *, after: int | None = None) -> int:
        """Write, and give the new revision. `after`: only over this revision (0: only where there is none); None: over
        whatever is there. A write whose answer was lost is looked up, not repeated.

        Raises StaleSequence when the key stands at another revision, InvalidInput for a key or a size that cannot be
        stored, Unavailable when the store did not answer within the retries.
        """
        ...

    async def delete(self, key: str, *, after: int | None = None) -> None:
        """As `put`. Deleting what is not there is harmless."""
        ...

    async def keys(self) -> list[str]:
        """In order."""
        ...

    async def entries(self) -> list[Entry]:
        """Everything, by key."""
        ...

    def watch(self) -> AsyncIterator[Changes]:
        """What is there, then every change, for ever (through reconnects). Of several changes of one key the last one
        is certain to come. An empty one with `caught_up` comes first when the bucket is empty."""
        ...


def checked_bucket(name: str) -> str:
    if not _BUCKET.fullmatch(name):
        raise InvalidInput.one(f"{name[:80]!r} cannot name a bucket", hint="letters, digits, '-' and '_', at most 64")
    return name


def checked_key(key: str) -> str:
    if not _KEY.fullmatch(key) or len(key) > _LONGEST_KEY:
        raise InvalidInput.one(
            f"{key[:80]!r} cannot be a key",
            hint=f"words of letters, digits and -/_= with dots between, {_LONGEST_KEY} at most",
        )
    return key
