"""Which launchers live, by the Leases that are seen to change. Pure.

A member whose Lease has not changed for as long as a Lease lasts is dead, by our own clock. But who sees nobody's Lease
change has lost sight of the cluster, and knows nothing of the others: after an outage of the API server all Leases are old,
and the first launcher to see again would take everybody for dead. So others are judged only by who has seen its own Lease
renewed, without a gap, for as long as a Lease lasts; until then those that lived still do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    version: str
    at: float
    """When it was seen to change (monotonic seconds)."""
    uid: str


class Leases:
    def __init__(self, own: str, lasts: float, gap: float) -> None:
        """`own`: our member's name; `lasts`: seconds without a change after which a member is dead; `gap`: seconds between
        two changes of our own Lease beyond which we had lost sight of the cluster."""
        self._own = own
        self._lasts = lasts
        self._gap = gap
        self._held: dict[str, Held] = {}
        self._steady_since = float("inf")
        """Since when our own Lease has been seen to be renewed."""
        self.living: frozenset[str] = frozenset({own})

    def saw(self, member: str, version: str, uid: str, now: float) -> None:
        """A Lease is there, or has changed."""
        before = self._held.get(member)
        if before is not None and (before.version, before.uid) == (version, uid):
            return
        self._held[member] = Held(version, now, uid)
        if member == self._own and (before is None or now - before.at > self._gap):
            self._steady_since = now

    def gone(self, member: str) -> None:
        """It left, or its Lease was deleted."""
        self._held.pop(member, None)

    def held(self, member: str) -> Held | None:
        return self._held.get(member)

    def look(self, now: float) -> bool:
        """Who lives by now; gives whether that has changed."""
        judges = self._judges(now)
        alive = {
            member
            for member, held in self._held.items()
            if now - held.at < self._lasts or (member in self.living and not judges)
        }
        before, self.living = self.living, frozenset(alive | {self._own})
        return self.living != before

    def forgotten(self, now: float, after: float) -> Iterator[tuple[str, Held]]:
        """The dead whose Lease has not changed for so many seconds."""
        if self._judges(now):
            for member, held in list(self._held.items()):
                if member not in self.living and now - held.at > max(after, self._lasts):
                    yield member, held

    def _judges(self, now: float) -> bool:
        own = self._held.get(self._own)
        return own is not None and now - own.at <= self._gap and now - self._steady_since >= self._lasts
