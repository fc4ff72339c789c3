"""What follows from where a job stands and what is seen of its ranks, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from trainyard.common.contract import events
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec
from trainyard.launcher.core.decide import decide, restart_delay
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.pending import pending_fault
from trainyard.launcher.core.sight import Append, Sight, Start, Stop, Wait

NOW = 1000.0
RUNNING = [RankSeen(0, Phase.RUNNING, pid=10), RankSeen(1, Phase.RUNNING, pid=11)]
DONE = [RankSeen(0, Phase.ENDED, exit_code=0), RankSeen(1, Phase.ENDED, exit_code=0)]


def ended(rank: int, **how: Any) -> RankSeen:
    return RankSeen(rank, Phase.ENDED, **{"exit_code": None, "ended_at": 5.0, **how})


def sight(state: State, ranks: Sequence[RankSeen] = (), *, tail: Sequence[str] = (), **changes: Any) -> Sight:
    used = changes.pop("used", ())
    last_progress = changes.pop("last_progress", None)
    job = Job(Head("j", state, 7, 1), spec(processes=2, **changes), "ann", 0.0, "host", 900.0, 900.0, used)
    return Sight(job, ranks, NOW, last_progress, "local", "node", "/out", lambda _: tail)


def appended(decision: object) -> Any:
    assert isinstance(decision, Append), decision
    return decision.event


@pytest.mark.parametrize("state", [State.RESOLVED, State.QUEUED])
def test_an_admitted_job_starts(state: State) -> None:
    event = appended(decide(sight(state)))
    assert (event.kind, event.attempt, event.backend, event.node) == ("starting", 1, "local", "node")


def test_after_a_restart_the_next_attempt_starts() -> None:
    assert appended(decide(sight(State.RESTARTING))).attempt == 2


@pytest.mark.parametrize(
    ("ranks", "decision"),
    [
        ([], Start()),
        ([RankSeen(0, Phase.RUNNING, pid=1), RankSeen(1, Phase.ABSENT)], Start()),
        ([RankSeen(0, Phase.RUNNING, pid=1), RankSeen(1, Phase.STARTING)], Wait()),
        ([ended(0, reason=EndReason.START), RankSeen(1, Phase.RUNNING, pid=1)], Stop("another rank has failed")),
    ],
)
def test_starting(ranks: list[RankSeen], decision: object) -> None:
    assert decide(sight(State.STARTING, ranks)) == decision


def test_when_all_ranks_are_there_it_runs() -> None:
    event = appended(decide(sight(State.STARTING, RUNNING)))
    assert event.kind == "running"
    assert [(rank.rank, rank.pid, rank.role) for rank in event.ranks] == [(0, 10, "worker"), (1, 11, "worker")]
    assert appended(decide(sight(State.STARTING, DONE))).kind == "running"


def test_all_well_is_success() -> None:
    event = appended(decide(sight(State.RUNNING, DONE)))
    assert (event.kind, event.outputs, event.seconds) == ("succeeded", "/out", 100.0)
    assert decide(sight(State.RUNNING, RUNNING)) == Wait()
    assert decide(sight(State.RUNNING, [RUNNING[0], DONE[1]])) == Wait()


class TestRolesThatServe:
    """A parameter server or a store is ended when the others are done, and its end decides nothing."""

    ROLES: ClassVar[dict[str, Any]] = {"store": {"background": True}, "train": {}}

    def sight(self, *ranks: RankSeen) -> Sight:
        made = Job(Head("j", State.RUNNING, 7, 1), spec(roles=self.ROLES), "ann", 0.0, "host", 900.0, 900.0)
        return Sight(made, ranks, NOW, None, "local", "node", "/out", lambda _: ())

    def test_they_are_ended_when_the_others_are_done(self) -> None:
        assert decide(self.sight(RUNNING[0], RUNNING[1])) == Wait()
        assert decide(self.sight(RUNNING[0], DONE[1])) == Stop("those that it served are done")
        stopped = ended(0, signal=15, stopped=True)
        assert appended(decide(self.sight(stopped, DONE[1]))).kind == "succeeded"
        assert appended(decide(self.sight(ended(0, exit_code=1), DONE[1]))).kind == "succeeded"

    def test_one_that_fails_before_ends_the_attempt(self) -> None:
        assert decide(self.sight(ended(0, exit_code=1), RUNNING[1])) == Stop("another rank has failed")
        assert decide(self.sight(DONE[0], RUNNING[1])) == Wait()


def test_one_bad_rank_ends_the_others_first() -> None:
    assert decide(sight(State.RUNNING, [RUNNING[0], ended(1, exit_code=1)])) == Stop("another rank has failed")


@pytest.mark.parametrize(
    ("how", "reason", "says"),
    [
        ({"exit_code": 3}, EndReason.ERROR, "rank 1 exited with code 3; its last line: boom"),
        ({"signal": 11}, EndReason.SIGNAL, "rank 1 was killed by SIGSEGV"),
        ({"signal": 9, "reason": EndReason.OOM}, EndReason.OOM, "it ran out of memory"),
        ({"reason": EndReason.START, "message": "x cannot be started"}, EndReason.START, "rank 1: x cannot be started"),
        ({"exit_code": 0, "reason": EndReason.OOM}, EndReason.OOM, "rank 1 exited with code 0"),
    ],
)
def test_reasons_and_their_words(how: dict[str, Any], reason: EndReason, says: str) -> None:
    ranks = [ended(0, signal=15, stopped=True, ended_at=1.0), ended(1, **how)]
    event = appended(decide(sight(State.RUNNING, ranks, tail=["fine", "boom", ""])))
    assert (event.kind, event.reason) == ("failed", reason)
    assert says in event.message
    assert event.log_tail == ("fine", "boom", "")
    assert [item.reason for item in event.endings] == [EndReason.CANCELLED, reason]


@pytest.mark.parametrize(
    ("how", "retries", "used", "outcome"),
    [
        ({"exit_code": 1}, {"user": 0}, (), "failed"),
        ({"exit_code": 1}, {"user": 2}, (), "restarting"),
        ({"exit_code": 1}, {"user": 2}, (("user", 2),), "failed"),
        ({"exit_code": 1}, {"user": 1}, (("infrastructure", 3),), "restarting"),
        ({"signal": 9, "reason": EndReason.OOM}, {"user": 5}, (), "failed"),
        ({"reason": EndReason.NODE_LOST}, {"infrastructure": 1}, (), "restarting"),
        ({"reason": EndReason.NODE_LOST}, {"infrastructure": 1, "user": 9}, (("infrastructure", 1),), "failed"),
        ({"reason": EndReason.PREEMPTED}, {"preemption": 1}, (("user", 4),), "restarting"),
    ],
)
def test_each_failure_is_paid_from_its_own_budget(how: dict[str, Any], retries: Any, used: Any, outcome: str) -> None:
    event = appended(decide(sight(State.RUNNING, [DONE[0], ended(1, **how)], retries=retries, used=used)))
    assert event.kind == outcome
    if outcome == "restarting":
        assert event.used[event.budget] == dict(used).get(event.budget, 0) + 1


def test_a_port_that_was_taken_meanwhile_is_not_the_users_fault() -> None:
    tail = ["RuntimeError: The server socket has failed: EADDRINUSE"]
    event = appended(decide(sight(State.RUNNING, [ended(0, exit_code=1), DONE[1]], tail=tail)))
    assert (event.kind, event.budget) == ("restarting", "infrastructure")


def test_a_rank_that_nobody_saw_end_is_lost() -> None:
    ranks = [DONE[0], RankSeen(1, Phase.VANISHED, pid=4, ended_at=3.0)]
    assert appended(decide(sight(State.RUNNING, ranks))).budget == "infrastructure"
    event = appended(decide(sight(State.RUNNING, ranks, retries={"infrastructure": 0})))
    assert event.kind == "lost"
    assert "nobody recorded how it ended" in event.message


@pytest.mark.parametrize(
    ("timeouts", "last_progress", "reason"),
    [
        ({"active": 50}, None, "deadline"),
        ({"active": 500}, None, None),
        ({"idle": 50}, None, "idle"),
        ({"idle": 50}, 990.0, None),
    ],
)
def test_time_outs_stop_the_ranks_and_then_the_job(
    timeouts: Any, last_progress: float | None, reason: str | None
) -> None:
    seen = sight(State.RUNNING, RUNNING, timeouts=timeouts, last_progress=last_progress)
    if reason is None:
        assert decide(seen) == Wait()
        return
    assert decide(seen) == Stop(reason)
    # A rank that ends with 0 on our SIGTERM has not succeeded.
    stopped = [
        ended(0, exit_code=0, stopped=True, stopped_for=reason),
        ended(1, signal=15, stopped=True, stopped_for=reason),
    ]
    event = appended(decide(replace(seen, ranks=stopped)))
    assert (event.kind, event.reason.value) == ("failed", reason)


def test_a_job_that_runs_and_of_which_nothing_is_left_has_not_succeeded() -> None:
    assert appended(decide(sight(State.RUNNING, []))).reason is EndReason.LOST
    event = appended(decide(sight(State.RUNNING, [], retries={"infrastructure": 0})))
    assert (event.kind, [item.reason for item in event.endings]) == ("lost", [EndReason.LOST, EndReason.LOST])
    half = [DONE[0], RankSeen(1, Phase.ABSENT)]
    assert appended(decide(sight(State.RUNNING, half))).reason is EndReason.LOST


def test_a_rank_that_was_never_there_does_not_hold_up_the_end() -> None:
    refused = ended(0, reason=EndReason.START, message="x cannot be started")
    assert decide(sight(State.STARTING, [refused, RankSeen(1, Phase.ABSENT)])) == Stop("another rank has failed")
    told = RankSeen(1, Phase.ABSENT, stopped=True)
    assert appended(decide(sight(State.STARTING, [refused, told]))).reason is EndReason.START
    assert decide(sight(State.CANCELLING, [RankSeen(0, Phase.ABSENT), told])) == Stop("cancelled")
    assert appended(decide(sight(State.CANCELLING, [told, told]))).kind == "cancelled"


@pytest.mark.parametrize(
    "taken",
    [
        RankSeen(0, Phase.VANISHED, ended_at=9.0),
        ended(0, exit_code=0, ended_at=9.0, reason=EndReason.EVICTED, message="asked to end"),
    ],
)
def test_a_rank_that_fails_because_another_was_taken_is_not_blamed(taken: RankSeen) -> None:
    event = appended(decide(sight(State.RUNNING, [taken, ended(1, exit_code=1, ended_at=5.0)], retries={"user": 0})))
    assert (event.kind, event.budget) == ("restarting", "infrastructure")
    assert event.message.startswith("rank 0")


def test_a_rank_that_fails_on_our_time_out_is_not_blamed_for_it() -> None:
    ranks = [ended(0, signal=15, stopped=True, stopped_for="idle", ended_at=6.0), ended(1, exit_code=1, ended_at=5.0)]
    # Its last words were a report, so that it would not be idle any more.
    event = appended(decide(sight(State.RUNNING, ranks, timeouts={"idle": 50}, last_progress=NOW)))
    assert (event.reason, event.message) == (EndReason.IDLE, "it reported no progress for 50.0 s (timeouts.idle)")


def test_cancelling_waits_for_the_ranks() -> None:
    assert decide(sight(State.CANCELLING, RUNNING)) == Stop("cancelled")
    event = appended(decide(sight(State.CANCELLING, [ended(0, signal=15, stopped=True), ended(1, exit_code=1)])))
    assert event.kind == "cancelled"
    assert appended(decide(sight(State.CANCELLING, []))).message == "it had not started"


def test_a_job_that_waits_too_long_fails() -> None:
    job = Job(
        Head("j", State.QUEUED, 3, 1), spec(timeouts={"pending": 60}), "ann", 0.0, events.Resolution(image="host")
    )
    assert pending_fault(job, 59) is None
    fault = pending_fault(job, 61)
    assert fault is not None
    assert fault.reason is EndReason.PENDING_DEADLINE
    assert "1 m 0 s" in fault.message
    assert pending_fault(replace(job, started_at=5.0), 99) is None


def test_restarts_wait_longer_each_time() -> None:
    job = Job(Head("j", State.RESTARTING, 3, 1), spec(), "ann", 0.0, events.Resolution(image="host"))
    delays = [restart_delay(replace(job, used=(("user", count),))) for count in range(6)]
    assert delays[0] == 0
    assert delays == sorted(delays)
    assert delays[-1] == 60


def test_every_job_event_that_the_launcher_writes_is_allowed_there() -> None:
    kinds = {appended(decide(sight(state, ranks))).kind for state, ranks in _APPENDING}
    assert kinds <= set(events.JOB_EVENTS)


_APPENDING = [(State.RESOLVED, []), (State.STARTING, RUNNING), (State.RUNNING, DONE), (State.CANCELLING, [])]
