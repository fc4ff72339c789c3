"""What the linter has to say of one row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    table: str
    row: str
    text: str
    fault: bool
    """False: a gap, or a source that should be read again."""
