"""What is known of one version of a dataset, as it lies beside its parts in `manifest.json`. Pure.

A version never changes once it is committed. Its parts are Arrow IPC files of at most `PART` bytes, each whole or not there.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, field, replace

import pyarrow as pa

from trainyard.data.errors import InvalidData

PART = 64 * 2**20
"""Bytes of a part, about: what a broken upload sends again at most, and what one stream of several carries."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?(?:/[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?){0,3}")
"""Lower-case words; `/` between at most four of them. No word starts or ends with a dot, so none climbs out of its folder."""


@dataclass(frozen=True, slots=True)
class Part:
    file: str
    rows: int
    size: int
    """Bytes of the file."""


@dataclass(frozen=True, slots=True)
class Manifest:
    name: str
    version: str
    schema: bytes
    """Arrow's IPC form."""
    parts: tuple[Part, ...] = ()
    created: float = 0.0
    """Unix time, seconds."""
    owner: str = ""
    pinned: bool = False
    """Never removed to make room, nor when it expires."""
    expires: float | None = None
    source: str = ""
    """What it was read from, where the server read it by itself: it can be read again, and goes first when room is needed."""
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def expired(self, now: float) -> bool:
        return self.expires is not None and self.expires <= now

    def arrow_schema(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(self.schema))

    def with_part(self, part: Part) -> Manifest:
        return replace(self, parts=(*self.parts, part))


def to_json(manifest: Manifest) -> bytes:
    return json.dumps({**asdict(manifest), "schema": b64encode(manifest.schema).decode()}, indent=1).encode()


def from_json(data: bytes) -> Manifest:
    try:
        said = json.loads(data)
        parts = tuple(Part(**part) for part in said["parts"])
        return Manifest(**{**said, "schema": b64decode(said["schema"]), "parts": parts})
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidData(f"this is no manifest of a dataset: {error}") from error


def checked_name(name: object) -> str:
    """`name`, whatever somebody sent as one, or InvalidData."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidData(
            f"{str(name)[:120]!r} is no name for a dataset: up to four words between `/`, of a-z, 0-9, `.`, `_` and `-`"
        )
    return name
