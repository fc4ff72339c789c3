"""Two versions of a model on the same requests: how far their answers are apart, and how long each takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainyard.converter.core import gate
from trainyard.converter.core.cases import Array

Answers = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one output, over all requests."""

    output: str
    equal: int
    """Requests whose answers agree within the tolerance of the output's type."""
    requests: int
    max_abs: float
    mean_abs: float
    argmax_agreement: float | None
    """Share of rows whose largest element is the same; None for outputs without rows."""
    fault: str = ""
    """What the first disagreement is about, in words."""


@dataclass(frozen=True, slots=True)
class Latency:
    """In seconds, as the client sees it."""

    p50: float
    p99: float
    requests: int


def differences(pairs: Sequence[tuple[Answers, Answers]]) -> list[Difference]:
    """One for each output of the first version; `pairs`: the answers of both to the same request."""
    names = list(dict.fromkeys(name for first, second in pairs for name in (*first, *second)))
    return [_difference(name, pairs) for name in names]


def _difference(name: str, pairs: Sequence[tuple[Answers, Answers]]) -> Difference:
    found = []
    for number, (first, second) in enumerate(pairs):
        if name not in first or name not in second:
            fault = f"one version alone answers with {name!r}"
            found.append(gate.Comparison(f"request {number}", name, False, fault))
        else:
            found.append(gate.compare(f"request {number}", name, first[name], second[name]))
    wrong = [item for item in found if not item.passed]
    agreements = [item.argmax_agreement for item in found if item.argmax_agreement is not None]
    return Difference(
        name,
        len(found) - len(wrong),
        len(found),
        max((item.max_abs for item in found), default=0.0),
        float(np.mean([item.mean_abs for item in found])) if found else 0.0,
        float(np.mean(agreements)) if agreements else None,
        f"{wrong[0].case}: {wrong[0].fault}" if wrong else "",
    )


def latency(seconds: Sequence[float]) -> Latency:
    """Nearest-rank percentiles: a value that was measured, never one between two."""
    p50, p99 = np.percentile(np.asarray(seconds), [50, 99], method="inverted_cdf")
    return Latency(float(p50), float(p99), len(seconds))
