"""What an examination of a machine or a cluster found: one line each, with what follows from it."""

from __future__ import annotations

from typing import Literal

from trainyard.common.contract.model import Fact


class Finding(Fact):
    level: Literal["ok", "note", "fault"]
    """`note`: something does without it; `fault`: it will not work."""
    subject: str
    text: str
