"""What the API server has of one kind, kept here and kept true: list, watch from there, and list again.

A watch ends for many reasons and lies for some. An in-stream ERROR (410: the history is gone) and every fault lead to a
new list, whose difference to what was known is told like events. A connection that died without being closed is noticed by
its silence, and every `RELIST` the list is compared in any case. While the API server cannot be reached, what is known
stays, marked as old: unreachable is not gone.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from trainyard.common.clock import Clock
from trainyard.common.errors import Unavailable
from trainyard.launcher.adapters.kubernetes.api import Api, Document, Refused
from trainyard.launcher.adapters.kubernetes.kinds import Kind

log = structlog.get_logger()

WATCH = (50, 70)  # seconds that one watch lasts
SILENCE = 10.0  # seconds beyond those after which a watch counts as dead
RELIST = 600.0  # seconds
MOST_UNREADABLE = 1000  # objects of which it is remembered that they cannot be read
BACKOFF = (0.2, 1.0, 2.0, 5.0, 10.0, 30.0)  # seconds before try 1, 2, …

T = TypeVar("T")
Key = tuple[str, str]
"""Namespace and name."""
Told = Callable[[T | None, T | None], None]
"""Before and after; None where it was not, or is no more."""


@dataclass(frozen=True, slots=True)
class Scope:
    namespace: str | None = None
    """None: all of them."""
    selector: str = ""
    """Of labels; empty: every object."""
    fields: str = ""
    """A field selector; empty: every object."""


def _nobody(before: object, after: object) -> None:
    del before, after


class Gone(Exception):
    """The history from which the watch was to go on is no longer there."""


class Informer(Generic[T]):
    def __init__(
        self,
        api: Api,
        kind: Kind,
        scope: Scope,
        clock: Clock,
        read: Callable[[Document], T | None],
        told: Told[T] = _nobody,
        *,
        keep: bool = True,
    ) -> None:
        """`read`: what of an object is worth keeping, None for nothing; `told` hears of every change, after it can be seen
        here. Without `keep` nothing is kept: all that is there is told, as often as it is read."""
        self._api = api
        self._kind = kind
        self._path = kind.path(scope.namespace)
        self._query = {
            **({"labelSelector": scope.selector} if scope.selector else {}),
            **({"fieldSelector": scope.fields} if scope.fields else {}),
        }
        self._keep = keep
        self._read = read
        self._told = told
        self._clock = clock
        self._objects: dict[tuple[str, str], T] = {}
        self._version: str | None = None
        """How far the watch has come; None: list first."""
        self._faults = 0
        self.listed_at: float | None = None
        """Monotonic seconds of the last whole list; None: nothing is known yet."""
        self.fault: str | None = None
        """Why what is known may be old; None: it is being watched."""
        self._blind_since: float | None = None
        self._unreadable: dict[Key, str] = {}
        """Object → the version that has been told of."""

    @property
    def blind_for(self) -> float:
        """Seconds for which nothing could be seen."""
        return self._clock.monotonic() - self._blind_since if self._blind_since is not None else 0.0

    @property
    def synced(self) -> bool:
        return self.listed_at is not None

    def get(self, namespace: str, name: str) -> T | None:
        return self._objects.get((namespace, name))

    def all(self) -> Iterable[T]:
        return self._objects.values()

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                if self._version is None or self._clock.monotonic() - (self.listed_at or 0.0) > RELIST:
                    self._version = await self._list()
                await self._watch()
            except Gone:
                log.info("the history of a watch has expired; listing again", kind=self._kind.name)
                self._version = None
                await asyncio.sleep(BACKOFF[0])
            except Unavailable as error:  # what came until now counts: the watch goes on from there
                await self._after(str(error), error.delay)
            except Refused as error:
                self._version = None
                await self._after(f"{error} ({error.status} {error.reason})", 0.0)

    def _well(self) -> None:
        self._faults, self.fault, self._blind_since = 0, None, None

    async def _after(self, fault: str, at_least: float) -> None:
        delay = max(at_least, BACKOFF[min(self._faults, len(BACKOFF) - 1)])
        self._faults += 1
        self.fault = fault
        if self._blind_since is None:
            self._blind_since = self._clock.monotonic()
        log.warning("cannot watch; trying again", kind=self._kind.name, fault=fault, delay=delay)
        await asyncio.sleep(delay * random.uniform(0.8, 1.2))  # noqa: S311 - spreads tries, keeps nothing secret

    async def _list(self) -> str:
        """Everything, page by page; gives the version to watch from."""
        found: dict[tuple[str, str], T] = {}
        version: str | None = None
        try:
            async for page in self._api.pages(self._path, self._query):
                for item in page.get("items") or ():
                    self._put(found, item)
                version = str(page["metadata"]["resourceVersion"])
        except Refused as error:
            if error.status == 410 and version is not None:  # between two pages
                raise Gone from error
            raise
        before, self._objects = self._objects, found
        self.listed_at = self._clock.monotonic()
        for key in before.keys() - found.keys():
            self._tell(key, before[key], None)
        for key, item in found.items():
            if before.get(key) != item:
                self._tell(key, before.get(key), item)
        return version or ""

    def _put(self, found: dict[Key, T], item: Any) -> None:
        for key, made in self._readable(item):
            if made is not None and self._keep:
                found[key] = made
            elif made is not None:
                self._tell(key, None, made)

    async def _watch(self) -> None:
        seconds = random.randint(*WATCH)  # noqa: S311 - spreads reconnects, keeps nothing secret
        query = {
            **self._query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version or "",
            "timeoutSeconds": str(seconds),
        }
        try:
            async with self._api.stream(self._path, query, seconds + SILENCE) as lines:
                self._well()
                async for line in lines:
                    self._version = self._take(line)
        except Refused as error:
            if error.status == 410:
                raise Gone from error
            raise

    def _take(self, line: bytes) -> str:
        """One event; gives the version that it brings. Raises Gone and Unavailable."""
        try:
            event = json.loads(line)
            kind, item = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"the API server sent half a line: {line[:100]!r}") from error
        if kind == "ERROR":
            if item.get("code") == 410:
                raise Gone
            raise Unavailable(f"the API server ended the watch: {item.get('message')}")
        version = str(item["metadata"]["resourceVersion"])
        if kind == "BOOKMARK":
            return version
        for key, made in self._readable(item):
            before = self._objects.pop(key, None)
            after = made if kind != "DELETED" else None
            if after is not None and self._keep:
                self._objects[key] = after
            if before is not None or made is not None:
                self._tell(key, before if after is not None else before or made, after)
        return version

    def _readable(self, item: Any) -> Iterator[tuple[Key, T | None]]:
        """The object, None where it is worth nothing; where it cannot be read, what was known of it or nothing. One bad
        object, of which there may be any in a cluster, must not end the launcher. It is told of once a version."""
        try:
            yield _key(item), self._read(item)
        except Exception as error:
            metadata = item["metadata"] if isinstance(item, dict) and isinstance(item.get("metadata"), dict) else {}
            key = str(metadata.get("namespace", "")), str(metadata.get("name"))
            version = str(metadata.get("resourceVersion"))
            if self._unreadable.get(key) != version:
                self._unreadable[key] = version
                if len(self._unreadable) > MOST_UNREADABLE:  # most of them are gone by now
                    del self._unreadable[next(iter(self._unreadable))]
                log.error("an object cannot be read", kind=self._kind.name, object=key, exc_info=error)
            if key in self._objects:
                yield key, self._objects[key]

    def _tell(self, key: Key, before: T | None, after: T | None) -> None:
        try:
            self._told(before, after)
        except Exception as error:
            log.error("a change cannot be taken in", kind=self._kind.name, object=key, exc_info=error)


def _key(item: Any) -> Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
