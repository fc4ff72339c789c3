"""Tickets: what a client shows to get one part of a dataset. Pure.

A ticket says what it opens, for whom and until when, and is signed with the server's key (HMAC-SHA256), so the server keeps
no list of them and a ticket from before its restart still works. It is a right to read and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import asdict, dataclass

from trainyard.data.errors import Expired, Refused

_SEAL = 32  # bytes of HMAC-SHA256


@dataclass(frozen=True, slots=True)
class Ticket:
    dataset: str
    version: str
    part: int
    """Which part of the version, from 0."""
    holder: str
    """Who asked for it."""
    expires: float
    """Unix time, seconds."""
    columns: tuple[str, ...] = ()
    """Those alone; empty: all."""


def seal(ticket: Ticket, key: bytes) -> bytes:
    body = json.dumps(asdict(ticket), separators=(",", ":")).encode()
    return _mac(body, key) + body


def unseal(data: bytes, key: bytes, now: float) -> Ticket:
    """Raises Refused for a ticket that this key did not sign, of which it reads nothing; Expired for one that is too old."""
    mac, body = data[:_SEAL], data[_SEAL:]
    if not hmac.compare_digest(mac, _mac(body, key)):
        raise Refused("this ticket was not signed by this server: ask it for a new one (GetFlightInfo)")
    said = json.loads(body)
    ticket = Ticket(**{**said, "columns": tuple(said["columns"])})
    if now >= ticket.expires:
        raise Expired(
            f"this ticket for {ticket.dataset} expired {now - ticket.expires:.0f} s ago: ask for a new one (GetFlightInfo)"
        )
    return ticket


def _mac(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()
