"""Which retry budget pays for an attempt that failed, and why, in words. Pure.

What a typed cause says (out of memory, evicted, node lost) stands. Only an end that nobody has explained, a code or a signal
of the process itself, is read further: by the job file's own rules first, then by what is known of ports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainyard.common.contract.retries import ExitCodeRule
from trainyard.common.lifecycle.states import BUDGET_OF, Budget, EndReason
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import RankSeen
from trainyard.launcher.core.plan import places

_PORT_TAKEN = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)
_NO_PEERS = 75, re.compile(r"cannot be found by name after [\d.e+]+ s")
"""How the runner of a pod ends that has waited for the others in vain (trainyard.worker.pod): nothing of the job began."""
_UNEXPLAINED = frozenset({EndReason.ERROR, EndReason.SIGNAL})
_FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Payer:
    budget: Budget
    left: int
    """Attempts that the budget can still pay for, the next one included."""
    words: str = ""
    """What there is to say beyond the cause itself; follows its sentence."""
    of_node: bool = False
    """The job file says that such an end is the machine's doing."""


def payer_of(job: Job, reason: EndReason, culprit: RankSeen | None, tail: Sequence[str]) -> Payer:
    """`tail`: the culprit's last log lines."""
    budget, words, of_node = BUDGET_OF[reason], "", False
    if culprit is not None and reason in _UNEXPLAINED:  # not where a time-out of ours came before
        rule = rule_of(job, culprit)
        if culprit.exit_code == _NO_PEERS[0] and any(_NO_PEERS[1].search(line) for line in tail):
            budget, words = Budget.INFRASTRUCTURE, "; nothing of the job had begun, which counts as infrastructure"
        elif rule is not None:
            budget = Budget.NONE if rule.counts_as == _FATAL else Budget(rule.counts_as)
            of_node = budget is Budget.INFRASTRUCTURE
            never = ", never retried" if rule.counts_as == _FATAL else ""
            words = f"; exit code {_code(culprit)} counts as {rule.counts_as} (retries.exit_codes){never}"
        elif any(_PORT_TAKEN.search(line) for line in tail):
            # Between choosing the port of the rendezvous and using it somebody else took it: not the user's fault.
            budget = Budget.INFRASTRUCTURE
            words = "; a port was taken meanwhile, which counts as infrastructure"
    allowed = _allowed(job, budget)
    left = max(0, allowed - job.spent(budget.value))
    if not left and allowed:
        words = f"{words}; {_all(allowed)} of retries.{budget} {'is' if allowed == 1 else 'are'} spent"
    return Payer(budget, left, words, of_node)


def _all(allowed: int) -> str:
    return "the only one" if allowed == 1 else f"all {allowed}"


def _allowed(job: Job, budget: Budget) -> int:
    match budget:
        case Budget.USER:
            return job.spec.retries.user
        case Budget.INFRASTRUCTURE:
            return job.spec.retries.infrastructure
        case Budget.PREEMPTION:
            return job.spec.retries.preemption
        case Budget.NONE:
            return 0


def rule_of(job: Job, rank: RankSeen) -> ExitCodeRule | None:
    """What the job file says of how a rank ended, where nobody knows better."""
    if rank.why() not in _UNEXPLAINED:
        return None
    code, rules = _code(rank), job.spec.retries
    if code is None or not rules.exit_codes:
        return None
    role = next((place.role for place, _ in places(job.spec) if place.rank == rank.rank), "")
    return rules.rule(code, role)


def _code(rank: RankSeen) -> int | None:
    """As a shell tells it: 128 + n where signal n ended the process."""
    return 128 + rank.signal if rank.signal is not None else rank.exit_code
