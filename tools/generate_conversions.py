"""Write `docs/reference/conversions.md` from the evidence beside it. `--add FILE` takes in what a run of the tests wrote;
`--check` only compares.

A line of a run takes the place of the line of the same model, format and target. Run by `just models` with --add; a test
runs --check.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from trainyard.common.contract.conversions import Format, Target
from trainyard.converter.core.targets import WRITERS
from trainyard.converter.testing import evidence
from trainyard.converter.testing.evidence import Evidence

HOME = Path(__file__).resolve().parent.parent / "docs" / "reference"
LINES, PAGE = HOME / "conversions.jsonl", HOME / "conversions.md"
HEAD = """# What converts, and on what evidence

Written by `tools/generate_conversions.py` from [conversions.jsonl](conversions.jsonl); do not edit. `just models` converts
all of it anew and writes both.

Every line is a whole conversion: the framework computes references at several batch sizes, the model is exported, and what
was written has to give the same numbers, or the conversion fails and its cause stands below. Errors are the largest absolute
difference on inputs like the model's own.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", type=Path, metavar="FILE", help="evidence of a run")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    lines = evidence.read(LINES)
    if options.check:
        return check(lines)
    if options.add:
        lines = merged(lines, evidence.read(options.add))
        LINES.unlink()
        evidence.append(LINES, lines)
    PAGE.write_text(page(lines))
    return 0


def check(lines: Sequence[Evidence]) -> int:
    if PAGE.exists() and PAGE.read_text() == page(lines):
        return 0
    sys.stderr.write(f"{PAGE} differs from its evidence: run tools/generate_conversions.py and commit it\n")
    return 1


def merged(known: Iterable[Evidence], new: Iterable[Evidence]) -> list[Evidence]:
    """In the order of the page."""
    found = {line.key: line for line in (*known, *new)}
    formats, targets = get_args(Format), get_args(Target)
    return sorted(found.values(), key=lambda line: (formats.index(line.format), targets.index(line.target), line.model))


def page(lines: Sequence[Evidence]) -> str:
    parts = [HEAD, pairs(lines)]
    for weights, title in (("trained", "Trained models"), ("random", "Architectures")):
        chosen = [line for line in lines if line.package and line.weights == weights and line.target == "onnx"]
        parts.append(models(title, chosen))
    parts += [refusals(lines), excuses(lines), versions(lines)]
    return "\n".join(parts)


def pairs(lines: Iterable[Evidence]) -> str:
    """Format by target: how many models of those that were tried, and the largest error among them."""
    tried: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
    for line in lines:
        tried[line.format, line.target].append(line)
    columns = ("onnx", "triton", *WRITERS)
    rows = [
        (name, *(cell(tried.get((name, target), [])) for target in columns))
        for name in get_args(Format)
        if (name, "onnx") in tried
    ]
    words = (
        "Equal models of those that were tried, and the largest error among them; – where nothing was tried. Triton: its\n"
        "model repository, loaded by the server that ships here and asked once over HTTP.\n"
    )
    return f"## From format to target\n\n{words}\n{table(('from', *columns), rows)}"


def cell(tried: Sequence[Evidence]) -> str:
    if not tried:
        return "–"
    equal = [line for line in tried if line.verdict == "equal"]
    error = max((line.max_abs_error or 0.0 for line in equal), default=None)
    return f"{len(equal)} of {len(tried)}" + ("" if error is None else f", {error:.1e}")


def models(title: str, lines: Sequence[Evidence]) -> str:
    rows = [
        (
            line.model,
            line.package,
            line.format,
            "<br>".join(f"`{text}`" for text in line.inputs),
            f"{line.exporter}, opset {line.opset}" if line.verdict == "equal" else "refused",
            "" if line.max_abs_error is None else f"{line.max_abs_error:.1e}",
            f"{line.seconds:.0f}",
        )
        for line in sorted(lines, key=lambda line: (line.package, line.model))
    ]
    equal = sum(line.verdict == "equal" for line in lines)
    head = ("model", "package", "format", "inputs", "ONNX by", "error", "seconds")
    return f"## {title}\n\n{equal} of {len(lines)} become equal ONNX.\n\n{table(head, rows)}"


def refusals(lines: Iterable[Evidence]) -> str:
    rows = [
        (line.model, line.format, line.target, line.cause.replace("|", "\\|"))
        for line in lines
        if line.verdict == "refused"
    ]
    return f"## What was refused, and why\n\n{table(('model', 'from', 'to', 'cause'), rows)}"


def excuses(lines: Iterable[Evidence]) -> str:
    words = "Zeros, ones and large numbers on which the framework itself is no surer of its answer than this.\n"
    rows = [(line.model, line.format, "<br>".join(line.excused)) for line in lines if line.excused]
    return f"## Edge cases that hang on rounding\n\n{words}\n{table(('model', 'from', 'what the report says'), rows)}"


def versions(lines: Iterable[Evidence]) -> str:
    found = sorted({version for line in lines if line.verdict == "equal" for version in line.versions if version})
    return "## Versions\n\n" + "".join(f"- {version}\n" for version in found)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
