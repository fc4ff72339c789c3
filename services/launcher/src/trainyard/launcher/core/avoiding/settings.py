"""`TRAINYARD_BAD_NODES`: when nodes are avoided, such as `jobs=3,window=1h,avoid=6h`, or `off`. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trainyard.common.contract import quantities
from trainyard.common.errors import InvalidInput
from trainyard.launcher.core.avoiding.verdict import Rules

NAME = "TRAINYARD_BAD_NODES"
EXAMPLE = "jobs=3,attempts=5,window=1h,avoid=6h,most=2d,wait=5m or off"
DAY = 86_400.0
COUNTS = {"jobs": "jobs", "attempts": "attempts"}
"""Name in the setting → of the rule; 1 to 100."""
SPANS = {
    "window": ("window", 60.0, DAY),
    "avoid": ("avoid", 60.0, 7 * DAY),
    "most": ("most", 60.0, 7 * DAY),
    "wait": ("patience", 1.0, DAY),
}
"""Name in the setting → of the rule, and the bounds in seconds."""


def parse(text: str | None) -> Rules:
    """What is not said keeps its default. Raises InvalidInput."""
    if not text or not text.strip():
        return Rules()
    if text.strip() == "off":
        return Rules(on=False)
    changes: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name in COUNTS:
            changes[COUNTS[name]] = _count(name, value)
        elif name in SPANS:
            rule, least, most = SPANS[name]
            changes[rule] = _span(name, value, least, most)
        else:
            raise InvalidInput.one(f"{part.strip()!r} says nothing of bad nodes", NAME, EXAMPLE)
    rules = replace(Rules(), **changes)
    if rules.avoid > rules.most:
        raise InvalidInput.one("`avoid` is longer than `most`", NAME, EXAMPLE)
    return rules


def _count(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 100):
        raise InvalidInput.one(f"{name}={value} is not a number from 1 to 100", NAME, EXAMPLE)
    return int(value)


def _span(name: str, value: str, least: float, most: float) -> float:
    try:
        seconds = quantities.seconds(value)
    except ValueError as error:
        raise InvalidInput.one(f"{name}={value}: {error}", NAME, EXAMPLE) from None
    if not least <= seconds <= most:
        bounds = f"{quantities.human_seconds(least)} to {quantities.human_seconds(most)}"
        raise InvalidInput.one(f"{name}={value} is not within {bounds}", NAME, EXAMPLE)
    return seconds
