"""Identifiers: lower-case ULIDs, so that an id sorts by time, fits a NATS subject token and a DNS label.

A derived id is a ULID-shaped digest of what it stands for. Whoever derives it twice gets the same id, which is how an
`Idempotency-Key` finds the job that it made before without a table of keys.
"""

from __future__ import annotations

import hashlib
import re
from typing import NewType

from ulid import ULID

from trainyard.common.errors import InvalidInput

JobId = NewType("JobId", str)
ConversionId = NewType("ConversionId", str)

_ULID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


def new_job_id() -> JobId:
    return JobId(str(ULID()).lower())


def new_conversion_id() -> ConversionId:
    return ConversionId(str(ULID()).lower())


def derived(*parts: str) -> str:
    """The id that stands for these parts: equal parts, equal id (first 128 bits of their SHA-256)."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    # A ULID's first character is at most 7 (128 bits in 26 × 5); from_bytes takes care of it.
    return str(ULID.from_bytes(digest[:16])).lower()


def keyed(entity: str, owner: str, key: str) -> str:
    """The id of what an owner asks for with this idempotency key, whether or not there is one already."""
    return derived(entity, owner, key)


def parse_job_id(text: str) -> JobId:
    return JobId(_parse(text, "job"))


def parse_conversion_id(text: str) -> ConversionId:
    return ConversionId(_parse(text, "conversion"))


def _parse(text: str, noun: str) -> str:
    lowered = text.lower()
    if not _ULID.fullmatch(lowered):
        raise InvalidInput.one(f"{text[:60]!r} is not a {noun} id", hint="an id has 26 letters and digits, as printed")
    return lowered
