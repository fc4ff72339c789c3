"""The page of tensors is that of its evidence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_that_of_its_evidence() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_tensors.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_an_outcome_that_is_no_sharing_is_seen_on_the_page() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import generate_tensors  # noqa: PLC0415

    lines = [
        {"versions": {"numpy": "2", "torch": "3"}},
        {
            "layout": "rows",
            "source": "numpy",
            "target": "torch",
            "outcomes": {"shared": ["int8", "int16"], "copied: torch needs this, this is 5 past one": ["bool"]},
        },
    ]
    page = generate_tensors.page(lines)
    assert "| numpy |  | **shared**; copied (1): bool |" in page
    assert "1. torch needs this, this is not" in page
