"""Durations and sizes as people write them. Suffixes of sizes are Kubernetes' (`Mi` is 2²⁰, `M` is 10⁶)."""

from __future__ import annotations

import math
import re

DURATION_PATTERN = r"^\d+(\.\d+)?(ms|s|m|h|d)$"
SIZE_PATTERN = r"^\d+(\.\d+)?([kKMGT]i?)?B?$"

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def seconds(value: object) -> float:
    """`"15m"` → 900.0. A bare number is seconds. Raises ValueError in words."""
    if isinstance(value, bool):
        raise ValueError("a duration is a number of seconds or text such as 90s, 15m, 2h")
    if isinstance(value, int | float):
        if not math.isfinite(value) or value < 0:
            raise ValueError("a duration is zero or more seconds")
        return float(value)
    if isinstance(value, str) and re.match(DURATION_PATTERN, value):
        number, unit = re.findall(r"^([\d.]+)(\w+)$", value)[0]
        return float(number) * _SECONDS[unit]
    raise ValueError("a duration is a number of seconds or text such as 90s, 15m, 2h")


def size(value: object) -> int:
    """`"2Gi"` → 2147483648. A bare number is bytes. Raises ValueError in words."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("a size is zero or more bytes")
        return value
    if isinstance(value, str) and (match := re.match(r"^(\d+(?:\.\d+)?)([kKMGT]?)(i?)B?$", value)):
        number, unit, binary = match.groups()
        if not (binary and not unit):
            return int(float(number) * (_BINARY[unit] if binary else _BYTES[unit]))
    raise ValueError("a size is a number of bytes or text such as 512Mi, 2Gi")


def human_bytes(count: float) -> str:
    """2147483648 → `2.0 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def human_seconds(span: float) -> str:
    """3725 → `1 h 2 m`; 4.2 → `4.2 s`."""
    if span < 60:
        return f"{span:.1f} s"
    minutes, rest = divmod(int(span), 60)
    if minutes < 60:
        return f"{minutes} m {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} m" if hours < 48 else f"{hours // 24} d {hours % 24} h"
