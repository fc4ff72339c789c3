"""Which nodes are to blame for the end of an attempt. Pure.

A rank that only ended with the others says nothing of its node, and neither does an error of the job's own, a preemption, or
an eviction that was asked for (a drained node). Locally the only node there is is blamed too, for people to see.
"""

from __future__ import annotations

from trainyard.common.contract.nodes import Blamed
from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.observation import RankSeen
from trainyard.launcher.core.sight import Sight

LONGEST = 200
"""Characters of a message that are kept."""


def blamed(sight: Sight, reason: EndReason, culprit: RankSeen | None, *, by_code: bool) -> tuple[Blamed, ...]:
    """`reason`, `culprit`: what ended the attempt; `by_code`: the job file says that such a code is the machine's doing."""
    if culprit is not None and culprit.stopped:  # it could not begin, and was given up
        ranks = [culprit] if reason is EndReason.NODE_FAULT else []
    else:
        ranks = [rank for rank in sight.ranks if rank.failed and rank.of_node]
        ranks += [culprit] if by_code and culprit is not None else []
    found: dict[str, Blamed] = {}
    for rank in ranks:
        name = rank.node or sight.node
        if name and name not in found:
            machine = sight.nodes.machine(name, rank.ended_at)
            why = reason if rank is culprit else rank.why()
            found[name] = Blamed(**dict(machine), reason=why, message=rank.message[:LONGEST])
    return tuple(found.values())
