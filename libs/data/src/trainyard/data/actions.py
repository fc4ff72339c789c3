"""What a client may ask for beside data, as Flight actions: one function each, JSON in, JSON out.

The server calls them through `ACTIONS`. Fields of a call: `dataset`, `version`, `upload` and what each docstring names.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trainyard.data.errors import InvalidData
from trainyard.data.manifest import Manifest, checked_name
from trainyard.data.store import Store

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    store: Store
    caller: str
    said: dict[str, Any]
    now: float
    """Unix time, seconds."""

    def text(self, name: str) -> str:
        value = self.said.get(name)
        if not isinstance(value, str) or not value:
            raise InvalidData(f"{name} is missing: this action needs it, as text")
        return value

    def version(self) -> str | None:
        return self.text("version") if self.said.get("version") else None

    def number(self, name: str) -> float:
        value = self.said.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InvalidData(f"{name} is missing: this action needs it, as a number")
        return value


def listed(call: Call) -> Answer:
    """Every version of every dataset whose name begins with `prefix`."""
    prefix = call.text("prefix") if call.said.get("prefix") else ""
    return {"datasets": [_about(each) for each in call.store.versions() if each.name.startswith(prefix)]}


def begin(call: Call) -> Answer:
    """An upload `upload` of `dataset` with `schema` (Arrow IPC, base64), or how far it is."""
    labels = call.said.get("labels") or {}
    if not isinstance(labels, dict):
        raise InvalidData("labels are no JSON object of texts")
    try:
        schema = b64decode(call.text("schema"), validate=True)
        manifest = Manifest(
            checked_name(call.text("dataset")),
            version="",
            schema=schema,
            created=call.now,
            owner=call.caller,
            labels={str(key): str(value) for key, value in labels.items()},
        )
        manifest.arrow_schema()
    except (ValueError, OSError) as error:
        raise InvalidData(f"schema is no Arrow schema: {error}") from error
    return {"rows": call.store.begin(call.text("upload"), manifest).rows}


def commit(call: Call) -> Answer:
    """`upload`, which has `rows`, becomes the current version of `dataset`."""
    rows = int(call.number("rows"))
    return _about(call.store.commit(call.text("upload"), call.text("dataset"), rows, call.caller))


def give_up(call: Call) -> Answer:
    """What arrived of `upload` is removed."""
    call.store.give_up(call.text("upload"), call.caller)
    return {}


def delete(call: Call) -> Answer:
    """`dataset`, or one `version` of it, is removed."""
    return {"versions": call.store.delete(call.text("dataset"), call.version())}


def pin(call: Call) -> Answer:
    """`dataset` is neither deleted nor removed to make room."""
    return _about(call.store.pin(call.text("dataset"), call.version(), True))


def unpin(call: Call) -> Answer:
    """`dataset` may be deleted again."""
    return _about(call.store.pin(call.text("dataset"), call.version(), False))


def expire(call: Call) -> Answer:
    """`dataset` is removed `after` seconds from now."""
    return _about(call.store.expire(call.text("dataset"), call.version(), call.now + call.number("after")))


def collect(call: Call) -> Answer:
    """What has expired is removed now."""
    return {"removed": call.store.collect()}


ACTIONS: dict[str, Callable[[Call], Answer]] = {
    "list": listed,
    "begin": begin,
    "commit": commit,
    "give-up": give_up,
    "delete": delete,
    "pin": pin,
    "unpin": unpin,
    "expire": expire,
    "collect": collect,
}


def _about(manifest: Manifest) -> Answer:
    return {
        "dataset": manifest.name,
        "version": manifest.version,
        "rows": manifest.rows,
        "bytes": manifest.size,
        "parts": len(manifest.parts),
        "created": manifest.created,
        "owner": manifest.owner,
        "pinned": manifest.pinned,
        "expires": manifest.expires,
        "source": manifest.source,
        "labels": manifest.labels,
        "columns": {column.name: str(column.type) for column in manifest.arrow_schema()},
    }
