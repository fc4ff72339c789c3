"""Who pays for another attempt: the typed cause, the job file's rules for exit codes, and what there is left."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.lifecycle.states import Budget, EndReason, State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec
from trainyard.launcher.core.budgets import payer_of
from trainyard.launcher.core.decide import decide
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.sight import Append, Sight, Wait

RULES = [
    {"codes": [75, 143], "counts_as": "preemption"},
    {"codes": [3], "counts_as": "infrastructure"},
    {"codes": [2], "counts_as": "fatal", "role": "ps"},
]
ROLES: dict[str, Any] = {"ps": {}, "worker": {}}
PS, WORKER = 0, 1  # ranks: the roles by name


def job(used: tuple[tuple[str, int], ...] = (), **retries: Any) -> Job:
    made = spec(roles=ROLES, retries={"user": 2, "exit_codes": RULES, **retries})
    return Job(Head("j", State.RUNNING, 7, 1), made, "ann", 0.0, events.Resolution(image="host"), 900.0, 900.0, used)


def ended(rank: int, **how: Any) -> RankSeen:
    return RankSeen(rank, Phase.ENDED, **{"ended_at": 5.0, **how})


@pytest.mark.parametrize(
    ("rank", "how", "budget"),
    [
        (WORKER, {"exit_code": 1}, Budget.USER),
        (WORKER, {"exit_code": 75}, Budget.PREEMPTION),
        (PS, {"exit_code": 75}, Budget.PREEMPTION),
        (WORKER, {"signal": 15}, Budget.PREEMPTION),
        (WORKER, {"exit_code": 143}, Budget.PREEMPTION),
        (WORKER, {"signal": 11}, Budget.USER),
        (WORKER, {"exit_code": 3}, Budget.INFRASTRUCTURE),
        (PS, {"exit_code": 2}, Budget.NONE),
        (WORKER, {"exit_code": 2}, Budget.USER),
        # What is known of an end says more than its code.
        (WORKER, {"signal": 15, "reason": EndReason.OOM}, Budget.NONE),
        (WORKER, {"exit_code": 75, "reason": EndReason.NODE_LOST}, Budget.INFRASTRUCTURE),
        (PS, {"exit_code": 2, "reason": EndReason.PREEMPTED}, Budget.PREEMPTION),
        (PS, {"exit_code": 2, "reason": EndReason.EVICTED}, Budget.INFRASTRUCTURE),
        (WORKER, {"exit_code": 75, "reason": EndReason.START}, Budget.NONE),
    ],
)
def test_11_each_end_has_its_payer(rank: int, how: dict[str, Any], budget: Budget) -> None:
    seen = ended(rank, **how)
    assert payer_of(job(), seen.why(), seen, ()).budget is budget


def test_a_time_out_of_ours_is_no_exit_code() -> None:
    seen = ended(WORKER, exit_code=75, stopped=True, stopped_for="deadline")
    assert payer_of(job(), EndReason.DEADLINE, seen, ()).budget is Budget.NONE


def appended(*ranks: RankSeen, tail: tuple[str, ...] = (), **retries: Any) -> Any:
    made = job(**retries)
    decision = decide(Sight(made, ranks, 1000.0, None, "local", "node", None, lambda _: tail))
    assert isinstance(decision, Append)
    return decision.event


STOPPED = ended(PS, signal=15, stopped=True, stopped_for="another rank has failed")


def test_the_rule_that_decided_is_told() -> None:
    event = appended(STOPPED, ended(WORKER, exit_code=75))
    assert (event.kind, event.budget, event.budget_left, event.used) == (
        "restarting",
        "preemption",
        9,
        {"preemption": 1},
    )
    assert event.message == "rank 1 exited with code 75; exit code 75 counts as preemption (retries.exit_codes)"
    assert event.reason is EndReason.ERROR


def test_a_fatal_code_is_never_retried() -> None:
    event = appended(ended(PS, exit_code=2), RankSeen(WORKER, Phase.ENDED, exit_code=0), user=100)
    assert event.kind == "failed"
    assert event.message.endswith("; exit code 2 counts as fatal (retries.exit_codes), never retried")


@pytest.mark.parametrize(
    ("used", "retries", "says"),
    [
        ((("preemption", 10),), {}, "; all 10 of retries.preemption are spent"),
        ((("preemption", 1),), {"preemption": 1}, "; the only one of retries.preemption is spent"),
        ((), {"preemption": 0}, "counts as preemption (retries.exit_codes)"),
    ],
)
def test_a_budget_that_is_spent_is_named(used: Any, retries: dict[str, int], says: str) -> None:
    event = appended(STOPPED, ended(WORKER, exit_code=75), used=used, **retries)
    assert event.kind == "failed"
    assert event.message.endswith(says)


def test_of_two_ends_in_one_second_the_one_with_a_rule_is_the_cause() -> None:
    """The rank that was told to go says so; the other one only lost its peer."""
    event = appended(ended(PS, exit_code=1), ended(WORKER, exit_code=75))
    assert event.budget == "preemption"
    assert appended(ended(PS, exit_code=1, ended_at=4.0), ended(WORKER, exit_code=75)).budget == "user"


def test_21_a_rule_of_the_job_file_comes_before_what_the_log_suggests() -> None:
    tail = ("OSError: [Errno 98] Address already in use",)
    assert appended(STOPPED, ended(WORKER, exit_code=1), tail=tail).budget == "infrastructure"
    assert appended(STOPPED, ended(WORKER, exit_code=75), tail=tail).budget == "preemption"


def test_20_a_pod_that_never_found_the_others_was_not_the_users_fault() -> None:
    """Nor is it what the job's own code 75 means: the runner answered, and nothing of the job had begun."""
    tail = ("a-worker-0.a.ns.svc cannot be found by name after 600 s: is DNS of the cluster well?",)
    event = appended(STOPPED, ended(WORKER, exit_code=75), tail=tail)
    assert event.budget == "infrastructure"
    assert event.message.endswith("; nothing of the job had begun, which counts as infrastructure")
    assert appended(STOPPED, ended(WORKER, exit_code=1), tail=tail).budget == "user", "who only prints it"


@pytest.mark.parametrize(
    ("heard", "now", "how", "waits"),
    [
        (False, 6.0, {"exit_code": 1}, True),
        (True, 6.0, {"exit_code": 1}, False),
        (False, 11.0, {"exit_code": 1}, False),
        (False, 4.0, {"exit_code": 1}, False),
        (False, 6.0, {"exit_code": 1, "reason": EndReason.OOM}, False),
    ],
)
def test_21_who_pays_is_decided_when_the_last_lines_are_here(heard: bool, now: float, how: Any, waits: bool) -> None:
    """For a while: a log that cannot be had holds nobody up, nor does a node whose clock is ahead of ours."""
    ranks = [STOPPED, ended(WORKER, **how)]
    decision = decide(Sight(job(), ranks, now, None, "kubernetes", "", None, lambda _: (), heard_all=heard))
    assert isinstance(decision, Wait) is waits
