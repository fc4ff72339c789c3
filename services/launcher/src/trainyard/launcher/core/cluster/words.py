"""The scheduler's sentence about a pod that fits nowhere, shorter and in words that a person understands.

`0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint {a: b}. preemption: …` becomes
`0/5 nodes: 3 lack nvidia.com/gpu, 2 tainted (a: b)`. What is not known stays as it is. Source: kube-scheduler, `FitError`.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(
    r"(?P<nodes>\d+/\d+) nodes are available: (?P<why>.*?)(?:\. (?:preemption|no new claims):?.*|\.)?$", re.DOTALL
)
_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(\d+) Insufficient (\S+)"), r"\1 lack \2"),
    (re.compile(r"(\d+) node\(s\) had untolerated taint\(?s?\)? \{(.*?)\}"), r"\1 tainted (\2)"),
    (re.compile(r"(\d+) node\(s\) had untolerated taint\(s\)"), r"\1 tainted"),
    (
        re.compile(r"(\d+) node\(s\) didn't match Pod's node affinity/selector"),
        r"\1 without the labels that are asked for",
    ),
    (re.compile(r"(\d+) node\(s\) were unschedulable"), r"\1 closed for new pods"),
    (
        re.compile(r"(\d+) node\(s\) didn't match pod topology spread constraints.*?(?=, \d|$)"),
        r"\1 would not spread the pods",
    ),
    (re.compile(r"(\d+) Too many pods"), r"\1 full of pods"),
)


def unschedulable(message: str) -> str:
    found = _WHOLE.match(" ".join(message.split()))
    if found is None:
        return message[:500] or "no node takes it"
    why = found["why"]
    for pattern, words in _PARTS:
        why = pattern.sub(words, why)
    return f"{found['nodes']} nodes: {why}"[:500]
