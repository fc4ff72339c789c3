"""Which launcher tends which job, when several share a cluster. Pure.

Every job belongs to the living member with the highest weight for it (rendezvous hashing): all members come to the same
answer from the same list, and when one comes or goes only its own jobs move. Source: Thaler and Ravishankar, "Using
name-based mappings to increase hit rates", 1998.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection


def owner(job_id: str, members: Collection[str]) -> str | None:
    """None: nobody lives."""
    return max(members, key=lambda member: (_weight(member, job_id), member), default=None)


def first(members: Collection[str]) -> str | None:
    """Who does what is done once: tells of the nodes, clears away."""
    return min(members, default=None)


def _weight(member: str, job_id: str) -> bytes:
    return hashlib.blake2b(f"{member}\0{job_id}".encode(), digest_size=8).digest()
