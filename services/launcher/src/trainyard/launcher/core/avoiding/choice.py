"""Which nodes the next attempt of a job keeps away from. Pure.

Its own bad experience counts at once, that of all jobs by `verdict`. Where every node there is would be avoided, those that
were to blame longest ago are taken all the same; where others are only busy, the attempt waits for them (see pending).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from trainyard.common.contract.inventory import Node
from trainyard.common.contract.nodes import Avoided, Blamed
from trainyard.launcher.core.avoiding.nodes import Choice
from trainyard.launcher.core.avoiding.record import Record
from trainyard.launcher.core.avoiding.verdict import Rules
from trainyard.launcher.core.job import Job

MOST = 100
"""Nodes that one attempt keeps away from: each is a line of every pod."""


def choose(job: Job, nodes: Sequence[Node] | None, records: Mapping[str, Record], rules: Rules, now: float) -> Choice:
    """`nodes`: those of the cluster; None: they cannot be seen, and a name is all that is known of any."""
    there = {node.name: node for node in nodes} if nodes is not None else None
    wanted = {
        name: (at, avoided)
        for name, at, avoided in _of_all(records, there, now)
        if avoided.by_hand or (rules.on and name not in job.allowed)
    }
    if rules.on:
        for at, blamed in job.blamed:
            if _is_there(blamed, at, there) and not (blamed.node in wanted and wanted[blamed.node][1].by_hand):
                why = f"{blamed.reason} in an earlier attempt of this job"
                wanted[blamed.node] = (at, Avoided(node=blamed.node, why=why))
    ordered = [avoided for _, avoided in sorted(wanted.values(), key=lambda item: (item[0], item[1].node))]
    kept = _loosen(ordered, there.keys()) if there is not None else ordered
    given_up = [avoided for avoided in ordered if avoided not in kept]
    return Choice(tuple(kept[-MOST:]), _words(given_up))


def _of_all(
    records: Mapping[str, Record], there: Mapping[str, Node] | None, now: float
) -> list[tuple[str, float, Avoided]]:
    """Name, when it became so, and the words."""
    found = []
    for name, record in records.items():
        node = there.get(name) if there is not None else None
        if record.avoided(now) and (there is None or (node is not None and record.is_of(node.itself))):
            found.append((name, record.since, Avoided(node=name, why=record.words, by_hand=record.by_hand)))
    return found


def _is_there(blamed: Blamed, at: float, there: Mapping[str, Node] | None) -> bool:
    """Whether the node that was to blame is the one that bears its name now."""
    if there is None:
        return True
    node = there.get(blamed.node)
    if node is None:
        return False
    if blamed.uid is None:
        return node.created_at is None or node.created_at < at
    return blamed.is_same(node.itself)


def _loosen(avoided: list[Avoided], names: Collection[str]) -> list[Avoided]:
    """At least one node is left, but for what somebody has said. The one of longest ago comes first."""
    kept = list(avoided)
    while {*names} <= {item.node for item in kept}:
        oldest = next((item for item in kept if not item.by_hand), None)
        if oldest is None:
            return kept
        kept.remove(oldest)
    return kept


def _words(given_up: Sequence[Avoided]) -> str:
    if not given_up:
        return ""
    names = ", ".join(f"{item.node} ({item.why})" for item in given_up)
    return f"there is no other node: it takes {names} all the same"
