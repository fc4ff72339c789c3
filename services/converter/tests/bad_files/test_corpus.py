"""How many files the corpus holds, and of how many kinds, as the guide says it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
GUIDE = HERE.parents[3] / "docs" / "guides" / "convert.md"


def test_the_guide_says_how_many_bad_files_there_are() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", str(HERE)]
    listed = subprocess.run(
        command, capture_output=True, check=True, text=True, timeout=120, cwd=HERE.parents[3]
    ).stdout
    kinds = Counter(re.findall(r"/test_(\w+)\.py::test_\w*(?:bad|endless)_\w+\[", listed))
    kinds += Counter(re.findall(r"/test_(\w+)\.py::test_an_endless_\w+$", listed, re.MULTILINE))
    stated = re.search(r"over (\d+) broken and malicious files of (\d+) kinds", GUIDE.read_text())
    assert stated is not None
    assert kinds.total() > int(stated[1])
    assert len(kinds) >= int(stated[2])
    assert min(kinds.values()) >= 5
