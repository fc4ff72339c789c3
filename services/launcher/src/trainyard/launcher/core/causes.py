"""What ended an attempt, in a typed reason and a sentence. Pure."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from trainyard.common.contract.quantities import human_seconds
from trainyard.common.lifecycle.states import BUDGET_OF, Budget, EndReason
from trainyard.launcher.core.budgets import rule_of
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.pending import COULD_NOT
from trainyard.launcher.core.sight import Sight, Tail

_OURS = {
    EndReason.PENDING_DEADLINE: ("it did not start within {} (timeouts.pending)", "pending"),
    EndReason.DEADLINE: ("it ran longer than {} (timeouts.active)", "active"),
    EndReason.IDLE: ("it reported no progress for {} (timeouts.idle)", "idle"),
}
"""Time-outs for which ranks that were well are stopped: the words, and the field that says how long."""


def cause(sight: Sight) -> tuple[EndReason, str, RankSeen | None]:
    """What ended the attempt: our own time-out, or else the first rank that ended badly by itself.

    Ranks are stopped for a time-out only while all of them are well, so it comes before what they make of the stop. A rank
    that infrastructure took comes before ranks that then missed it.
    """
    for rank in sight.ranks:
        why, _, message = rank.stopped_for.partition(": ")
        if message and why in set(EndReason):
            return EndReason(why), message, _named(sight.ranks, message) or rank
        for reason, (words, field) in _OURS.items():
            if rank.stopped_for == reason.value:
                return reason, words.format(human_seconds(getattr(sight.job.spec.timeouts, field) or 0)), rank
    failed = sorted((rank for rank in sight.ranks if rank.failed), key=lambda rank: _blame(sight.job, rank))
    if failed:
        return failed[0].why(), _sentence(failed[0], sight.tail), failed[0]
    return EndReason.SIGNAL, "its processes were ended from outside", None


def _named(ranks: Sequence[RankSeen], message: str) -> RankSeen | None:
    """Which of them did not begin: all were told to end for it, with the same words (see pending.COULD_NOT)."""
    found = COULD_NOT.match(message)
    return next((rank for rank in ranks if found is not None and rank.rank == int(found[1])), None)


def _blame(job: Job, rank: RankSeen) -> tuple[bool, bool, float, bool]:
    """Kubernetes tells ends by the second: of two in the same one, the code that the job file speaks of explains more."""
    infrastructure = BUDGET_OF[rank.why()] is Budget.INFRASTRUCTURE
    return rank.taken, not infrastructure, rank.ended_at, rule_of(job, rank) is None


def _sentence(rank: RankSeen, tail: Tail) -> str:
    who = f"rank {rank.rank}"
    if rank.message:
        return f"{who}: {rank.message}"
    if rank.phase is Phase.VANISHED:
        return f"{who} is gone and nobody recorded how it ended"
    if rank.signal is not None:
        name = signal.Signals(rank.signal).name if rank.signal in set(signal.Signals) else str(rank.signal)
        text = f"{who} was killed by {name}"
        return f"{text}: it ran out of memory" if rank.reason is EndReason.OOM else text
    text = f"{who} exited with code {rank.exit_code}"
    last = next((line for line in reversed(tail(rank.rank)) if line.strip()), "")
    return f"{text}; its last line: {last.strip()[:300]}" if last else text
