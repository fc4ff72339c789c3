"""Watches: what is there, then what happens, as lines of JSON until the client goes, the time is up, or a test hangs up."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.read import Selection, version_number
from trainyard.cluster_double.core.errors import ApiError, expired
from trainyard.cluster_double.core.objects import Json, namespace_of, with_meta
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.store.events import Event, as_seen

INITIAL_END = "k8s.io/initial-events-end"
Render = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the client asked for."""

    resource: Resource
    namespace: str
    chosen: Selection
    version: str
    timeout: float
    bookmarks: bool
    initial: bool
    """sendInitialEvents: the present state first, closed by a bookmark."""
    render: Render | None = None
    """Another form of the objects (a Table); None sends them as they are stored."""


async def lines(cluster: Cluster, wish: Wish, frozen: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Raises ApiError before the first line where a real server answers with a status instead of a stream."""
    store, storage = cluster.store, wish.resource.storage
    watcher = store.watch(storage)
    try:
        start, past = _begin(cluster, wish)
        for line in filter(None, (_line(wish, event) for event in past)):
            yield line
        if wish.initial or (wish.bookmarks and wish.version in {"", "0"}):
            yield _bookmark(wish, start, {INITIAL_END: "true"})
        deadline = time.monotonic() + wish.timeout
        mark = _next_mark(cluster, deadline)
        while (now := time.monotonic()) < deadline:
            until = min(deadline, mark) if wish.bookmarks else deadline
            for event in await watcher.batch(max(0.0, until - now)):
                told = _line(wish, event) if event.revision > start else None
                while frozen():  # noqa: ASYNC110  (set from another thread)
                    await asyncio.sleep(0.05)
                if told:
                    yield told
            if wish.bookmarks and time.monotonic() >= mark and not frozen():
                if _is_news(wish, store.revision):
                    yield _bookmark(wish, store.revision, {})
                mark = _next_mark(cluster, deadline)
    except _Refused as refused:
        yield _encoded("ERROR", json.dumps(refused.status).encode())
    finally:
        store.unwatch(storage, watcher)


def _is_news(wish: Wish, revision: int) -> bool:
    """Whether a bookmark tells the client more than the version that it named itself."""
    return not wish.version.isdecimal() or revision > int(wish.version)


def _next_mark(cluster: Cluster, deadline: float) -> float:
    """When to say where the client stands: now and then, and two seconds before the time is up."""
    now = time.monotonic()
    usual = now + cluster.settings.bookmark_seconds
    return min(usual, deadline - 2) if deadline - 2 > now else usual


class _Refused(Exception):
    """A fault that is told within the stream."""

    def __init__(self, fault: ApiError) -> None:
        super().__init__(fault.message)
        self.status = fault.status()


def _begin(cluster: Cluster, wish: Wish) -> tuple[int, list[Event]]:
    """(the revision from which on to tell, what to tell first)."""
    store, storage = cluster.store, wish.resource.storage
    if wish.version in {"", "0"} or wish.initial:
        present = store.entries(storage, wish.namespace, wish.chosen.labels.exact())
        return store.revision, [Event(store.revision, "ADDED", obj) for obj in present]
    version = version_number(wish.version)
    if version > store.revision:
        return version, []
    history = store.history(storage)
    if version < history.oldest:
        raise _Refused(expired(f"too old resource version: {version} ({history.oldest})"))
    return store.revision, history.after(version)


def _line(wish: Wish, event: Event) -> bytes | None:
    if wish.namespace and namespace_of(event.obj) != wish.namespace:
        return None
    kind = as_seen(event, wish.chosen.matches)
    if kind is None:
        return None
    if kind == "DELETED" and event.kind == "MODIFIED" and event.before is not None:
        # It only left the selection: told as it was when last seen, at the version that made it leave.
        gone = with_meta(event.before, resourceVersion=str(event.revision))
        return _encoded(kind, json.dumps(_rendered(wish, gone)).encode())
    if wish.render is None and event.obj["apiVersion"] == wish.resource.api_version:
        return _encoded(kind, event.encoded)
    return _encoded(kind, json.dumps(_rendered(wish, event.obj)).encode())


def _rendered(wish: Wish, obj: Json) -> Json:
    return wish.render(obj) if wish.render is not None else {**obj, "apiVersion": wish.resource.api_version}


def _bookmark(wish: Wish, revision: int, annotations: dict[str, str]) -> bytes:
    metadata: Json = {"resourceVersion": str(revision), **({"annotations": annotations} if annotations else {})}
    head = {"kind": wish.resource.kind, "apiVersion": wish.resource.api_version}
    return _encoded("BOOKMARK", json.dumps({**head, "metadata": metadata}).encode())


def _encoded(kind: str, obj: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + obj + b"}\n"
