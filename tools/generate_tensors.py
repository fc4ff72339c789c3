"""Write `docs/reference/tensors.md` from the evidence beside it. `--measure PYTHON …` measures anew with these
interpreters, which need numpy, pyarrow and frameworks: not all go into one; what the first has is not taken from the next.
`--check` only compares.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "docs" / "reference"
LINES, PAGE = HOME / "tensors.jsonl", HOME / "tensors.md"
HEAD = """# What is shared between frameworks, and what is copied

Written by `tools/generate_tensors.py` from [tensors.jsonl](tensors.jsonl); do not edit. `just tensors PYTHON …` measures all
of it anew.

Every cell was measured: the values that came are those that were sent, for each element type, and *shared* means that both
tensors have their first element at one address. Types that a cell does not name are as its first word says; types that the
source does not have are left out.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", metavar="PYTHON", nargs="+")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.measure:
        LINES.write_text(merged([measure(python) for python in options.measure]))
    text = page([json.loads(line) for line in LINES.read_text().splitlines()])
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.stderr.write(f"{PAGE} differs from its evidence: run tools/generate_tensors.py and commit it\n")
        return 1
    return 0


def measure(python: str) -> str:
    script = ROOT / "libs" / "tensors" / "tests" / "frameworks" / "measuring.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "libs" / "tensors" / "src")}
    return subprocess.run([python, str(script)], env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout


def merged(runs: Iterable[str]) -> str:
    """JSON lines of several runs as those of one, sorted by layout."""
    versions: dict[str, str] = {}
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for run in runs:
        first, *rest = map(json.loads, run.splitlines())
        versions |= {name: version for name, version in first["versions"].items() if name not in versions}
        for line in rest:
            found.setdefault((line["layout"], line["source"], line["target"]), line)
    layouts = list(dict.fromkeys(layout for layout, _, _ in found))
    lines = sorted(found.values(), key=lambda line: layouts.index(line["layout"]))
    return "".join(json.dumps(line) + "\n" for line in ({"versions": versions}, *lines))


def page(lines: Iterable[dict[str, Any]]) -> str:
    first, *rest = lines
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    parts = [HEAD, f"With {versions}, on a CPU; a GPU, and so cupy, was never seen.\n"]
    for layout in dict.fromkeys(line["layout"] for line in rest):
        parts += _section(layout, [line for line in rest if line["layout"] == layout], list(first["versions"]))
    return "\n".join(parts)


def _section(layout: str, lines: list[dict[str, Any]], frameworks: list[str]) -> list[str]:
    reasons: list[str] = []
    rows = [f"## {layout.capitalize()}\n", f"| from ↓ to → | {' | '.join(frameworks)} |"]
    rows.append("|---" * (len(frameworks) + 1) + "|")
    for source in dict.fromkeys(line["source"] for line in lines):
        cells = {line["target"]: _cell(line["outcomes"], reasons) for line in lines if line["source"] == source}
        cells[source] = ""
        rows.append(f"| {source} | {' | '.join(cells.get(target, 'not measured') for target in frameworks)} |")
    return [*rows, "", *(f"{number}. {reason}" for number, reason in enumerate(reasons, 1)), ""]


def _cell(outcomes: dict[str, list[str]], reasons: list[str]) -> str:
    """The commonest verdict first; reasons by their number."""
    grouped: dict[str, list[str]] = {}
    for outcome, dtypes in outcomes.items():
        verdict, _, why = outcome.partition(": ")
        if why:
            reason = re.sub(r"this is \d+ past one", "this is not", why)
            if reason not in reasons:
                reasons.append(reason)
            verdict = f"{verdict} ({reasons.index(reason) + 1})"
        grouped.setdefault(verdict, []).extend(dtypes)
    if not grouped:
        return "none has such"
    (most, _), *others = sorted(grouped.items(), key=lambda item: -len(item[1]))
    apart = [f"{verdict}: {', '.join(names)}" for verdict, names in others]
    return "; ".join([f"**{most}**" if most == "shared" else most, *apart])


if __name__ == "__main__":
    sys.exit(main())
