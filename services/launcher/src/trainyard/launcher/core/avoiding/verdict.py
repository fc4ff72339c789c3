"""When all jobs keep away from a node, and when no longer. Pure.

A node is judged by different jobs or by many attempts, since one job alone may be what is broken. Of a cluster only a part is
ever avoided: when a network fails, every node loses its pods, and none of them is a bad one.
"""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.common.contract.nodes import BY_ITSELF, NodeAvoided, NodeEvent, NodeForgiven
from trainyard.common.contract.quantities import human_seconds
from trainyard.launcher.core.avoiding.record import REMEMBERED, Record

SHARE = 4
"""One of so many nodes may be avoided at a time without anybody having said so; of two or three nodes one, of one none."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Of TRAINYARD_BAD_NODES."""

    jobs: int = 3
    """Different jobs that met trouble on a node, or"""
    attempts: int = 5
    """attempts, of however many jobs,"""
    window: float = 3600.0
    """within so many seconds, and all jobs avoid it"""
    avoid: float = 6 * 3600.0
    """for so many seconds; twice as long when it happens again,"""
    most: float = 48 * 3600.0
    """and so many at most."""
    patience: float = 300.0
    """Seconds for which an attempt waits for other nodes than those that it avoids."""
    on: bool = True
    """False: nothing is avoided but what somebody has said."""


def room(nodes: int) -> int:
    """How many nodes of a cluster may be avoided at a time."""
    return max(1, nodes // SHARE) if nodes > 1 else 0


def verdict(record: Record, rules: Rules, now: float, *, may: bool) -> NodeEvent | None:
    """What the launchers have to say of a node; `may`: there is room for one more that is avoided."""
    machine = dict(record.machine)
    if record.avoided(now):
        if not record.well:
            return None
        return NodeForgiven(**machine, number=record.seq, by=BY_ITSELF, message=record.well)
    recent = [strike for strike in record.strikes if strike.at > now - rules.window]
    jobs = {strike.job_id for strike in recent}
    attempts = {(strike.job_id, strike.attempt) for strike in recent}
    if not (rules.on and may and (len(jobs) >= rules.jobs or len(attempts) >= rules.attempts)):
        return None
    again = record.lasted > 0 and now - record.until < REMEMBERED
    seconds = min(2 * record.lasted, rules.most) if again else min(rules.avoid, rules.most)
    reasons = ", ".join(sorted({strike.reason for strike in recent}))
    what = f"{len(attempts)} attempt{'s' * (len(attempts) > 1)} of {len(jobs)} job{'s' * (len(jobs) > 1)}"
    return NodeAvoided(
        **machine,
        number=record.seq,
        by=BY_ITSELF,
        seconds=seconds,
        until=round(now + seconds, 3),
        message=f"{what} ended there within {human_seconds(rules.window)}: {reasons}{' (once more)' if again else ''}",
    )
