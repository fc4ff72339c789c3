"""The frameworks that a job file may name: one literal row each, and a launcher adapter behind every row."""

from __future__ import annotations

from typing import Literal, get_args

FrameworkName = Literal["generic", "pytorch"]

FRAMEWORKS: dict[str, str] = {
    "generic": "any command; ranks are numbered, no process group is formed",
    "pytorch": "PyTorch with torch.distributed (DDP, FSDP)",
}

if set(FRAMEWORKS) != set(get_args(FrameworkName)):  # pragma: no cover - guards an edit of one without the other
    raise AssertionError("FRAMEWORKS and FrameworkName differ")
