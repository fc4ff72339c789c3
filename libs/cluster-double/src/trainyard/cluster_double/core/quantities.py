"""Amounts of resources: `500m`, `1Gi`, `2e3`. Kept exact, as fractions, so that sums compare equal."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

from kubernetes.utils.quantity import parse_quantity

_FORM = re.compile(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$")
_MILLI = Fraction(1, 1000)
PATTERN_FAULT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@cache
def amount(text: str | int | float) -> Fraction:
    """Raises ValueError with the API server's words."""
    if isinstance(text, str) and not _FORM.match(text):
        raise ValueError(PATTERN_FAULT)
    try:
        found: Decimal = parse_quantity(str(text))  # type: ignore[no-untyped-call]
    except ValueError:
        raise ValueError(PATTERN_FAULT) from None
    return Fraction(found)


def written(value: Fraction, like: str = "") -> str:
    """The shortest usual form: binary suffixes where `like` has one, else decimal with milli."""
    if value.denominator != 1:
        milli = -(-value // _MILLI)
        return f"{milli}m"
    whole = int(value)
    if like.endswith("i") or (not like and whole >= 1024 and whole % 1024 == 0):
        for suffix, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
            if whole and whole % size == 0:
                return f"{whole // size}{suffix}"
    for suffix, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if whole and whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)
