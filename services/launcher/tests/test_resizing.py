"""Another size for a job: what the log makes of it, what is decided, and what admission keeps for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainyard.common.contract import events
from trainyard.common.contract.resizing import sizes
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec
from trainyard.launcher.core.admission import Admission, Need
from trainyard.launcher.core.decide import decide, restart_delay
from trainyard.launcher.core.devices import Device, Want
from trainyard.launcher.core.job import Job, apply
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.sight import Append, Room, Sight, Stop, Wait

RUNNING = [RankSeen(0, Phase.RUNNING, pid=10), RankSeen(1, Phase.RUNNING, pid=11)]


def resizing(state: State, asked: int = 4, **changes: Any) -> Job:
    head = Head("j", state, 7, 1)
    wish = (("worker", asked),)
    return Job(head, spec(replicas=2), "ann", 0.0, started_at=900.0, asked=wish, resizes=1, **changes)


def sight(job: Job, room: Room | None, ranks: Sequence[RankSeen] = RUNNING, told: str = "") -> Sight:
    return Sight(job, ranks, 1000.0, None, "local", "node", "/out", lambda _: (), room=room, told=told)


def stopped(rank: int, **how: Any) -> RankSeen:
    return RankSeen(rank, Phase.ENDED, **{"signal": 15, "stopped": True, "stopped_for": "resized", **how})


def appended(decision: object) -> Any:
    assert isinstance(decision, Append), decision
    return decision.event


def wish(number: int, replicas: int, before: int = 2) -> events.JobResized:
    return events.JobResized(
        job_id="j", number=number, role="worker", before=before, replicas=replicas, by="ann", roles={"worker": replicas}
    )


class TestFold:
    """The size of an attempt is what had been asked for when it began."""

    def test_a_wish_counts_from_the_next_attempt_on(self) -> None:
        job = Job(Head("j", State.RUNNING, 1, 1), spec(replicas=2), "ann", 0.0)
        job = apply(job, wish(1, 4), 2, 0.0)
        assert (job.resizing, sizes(job.spec), sizes(job.at_asked_size().spec)) == (True, {"worker": 2}, {"worker": 4})
        job = apply(job, wish(2, 3, before=4), 3, 0.0)
        paid = {"budget": "none", "budget_left": 0, "message": "m"}
        job = apply(job, events.JobRestarting(job_id="j", reason=EndReason.RESIZED, **paid), 4, 0.0)
        assert (sizes(job.spec), job.unblamed) == ({"worker": 2}, True)
        job = apply(job, events.JobStarting(job_id="j", attempt=2, backend="b", node="n"), 5, 0.0)
        assert (job.resizing, sizes(job.spec), job.resizes) == (False, {"worker": 3}, 2)

    def test_a_wish_that_is_taken_back_leaves_nothing(self) -> None:
        job = Job(Head("j", State.RUNNING, 1, 1), spec(replicas=2), "ann", 0.0)
        job = apply(apply(job, wish(1, 4), 2, 0.0), wish(2, 2, before=4), 3, 0.0)
        assert not job.resizing
        assert job.at_asked_size() is job


class TestDecisions:
    def test_it_is_ended_as_soon_as_there_is_room(self) -> None:
        job = resizing(State.RUNNING)
        assert decide(sight(job, None)) == Wait()
        assert decide(sight(job, Room())) == Stop("resized")
        pending = appended(decide(sight(job, Room(waits="no room"))))
        assert (pending.kind, pending.message, pending.attempt) == ("pending", "no room", 1)
        assert decide(sight(job, Room(waits="no room"), told="no room")) == Wait()

    def test_ranks_that_still_come_up_are_ended_too(self) -> None:
        job, coming = resizing(State.STARTING), [RUNNING[0], RankSeen(1, Phase.STARTING)]
        assert decide(sight(job, Room(), coming)) == Stop("resized")
        assert decide(sight(job, Room(waits="no room"), coming)) == Wait()

    def test_ranks_that_were_done_before_they_could_be_ended_are_done(self) -> None:
        job = resizing(State.STARTING)
        done = [RankSeen(rank, Phase.ENDED, exit_code=0) for rank in range(2)]
        assert appended(decide(sight(job, Room(), done))).kind == "running"

    def test_what_can_never_be_had_is_taken_back(self) -> None:
        for state in (State.RUNNING, State.STARTING, State.QUEUED, State.RESTARTING):
            event = appended(decide(sight(resizing(state), Room(fault="there are 2 cores"))))
            assert (event.kind, event.number, event.before, event.replicas) == ("resized", 2, 4, 2)
            assert (event.by, event.roles, event.message) == (
                "launcher",
                {"worker": 2},
                "it stays at 2 × worker: there are 2 cores",
            )

    def test_when_all_have_ended_it_begins_anew_at_nobodys_cost(self) -> None:
        job = resizing(State.RUNNING, used=(("user", 2),))
        assert decide(sight(job, None, [stopped(0), RUNNING[1]])) == Stop("resized")
        event = appended(decide(sight(job, None, [stopped(0), stopped(1)])))
        assert (event.kind, event.attempt, event.reason, event.budget) == ("restarting", 1, EndReason.RESIZED, "none")
        assert event.message == "it had 2 × worker and begins anew with 4 × worker"
        assert (event.used, len(event.endings)) == ({"user": 2}, 2)
        after = apply(job, event, 8, 0.0)
        assert restart_delay(after) == 0.0
        starting = appended(decide(sight(after, Room(), ())))
        assert (starting.kind, starting.attempt, starting.replicas) == ("starting", 2, {"worker": 4})

    def test_what_ranks_make_of_being_ended_is_no_failure(self) -> None:
        failed = RankSeen(1, Phase.ENDED, exit_code=1, ended_at=999.0)
        event = appended(decide(sight(resizing(State.RUNNING), None, [stopped(0), failed])))
        assert event.reason is EndReason.RESIZED

    def test_a_failure_before_is_one_all_the_same(self) -> None:
        failed = RankSeen(1, Phase.ENDED, exit_code=1, ended_at=999.0)
        assert decide(sight(resizing(State.RUNNING), Room(), [RUNNING[0], failed])) == Stop("another rank has failed")

    def test_a_job_that_is_done_is_done(self) -> None:
        done = [RankSeen(rank, Phase.ENDED, exit_code=0) for rank in (0, 1)]
        assert appended(decide(sight(resizing(State.RUNNING), Room(), done))).kind == "succeeded"

    def test_before_its_first_attempt_it_waits_for_the_room(self) -> None:
        assert decide(sight(resizing(State.QUEUED), Room(waits="no room"), ())) == Wait()

    def test_while_there_is_no_room_another_attempt_has_the_old_size(self) -> None:
        """It would keep what it holds from the others, who may keep from it what it waits for."""
        job = resizing(State.RESTARTING)
        event = appended(decide(sight(job, Room(waits="no room"), ())))
        assert (event.kind, event.attempt, event.replicas) == ("starting", 2, {"worker": 2})
        after = apply(job, event, 8, 0.0)
        assert (sizes(after.spec), after.resizing) == ({"worker": 2}, True)


def queue(*others: str, capacity: float = 4, devices: Sequence[Device] = ()) -> Admission:
    """Where job `j` runs with two cores."""
    made = Admission(Need(capacity, 100, 100), devices)
    made.offer("j", Need(2, 2, 2), priority=0, order=1)
    assert made.admit() == ["j"]
    for order, other in enumerate(others, start=2):
        made.offer(other, Need(1, 1, 1), priority=0, order=order)
    return made


def asks(queue: Admission, cpu: float, order: int = 1) -> bool:
    return queue.resize("j", Need(cpu, 2, int(cpu)), priority=0, order=order)


class TestAdmission:
    def test_what_it_grows_by_is_kept_for_it(self) -> None:
        made = queue()
        assert not asks(made, 3)
        made.admit()
        assert asks(made, 3)
        assert made.free.cpu == 1
        assert made.renew("j", Need(3, 2, 3), ()) == ()
        made.release("j")
        assert made.free == Need(4, 100, 100)

    def test_it_keeps_its_place_in_the_queue(self) -> None:
        made = queue("a", "b", "c")
        assert made.admit() == ["a", "b"]
        assert not asks(made, 3)
        made.release("a")
        assert made.admit() == [], "it is older than c"
        assert asks(made, 3)
        assert not asks(made, 4, order=9)
        made.release("b")
        assert made.admit() == ["c"], "it passes nobody either"

    def test_what_it_shrinks_by_is_free_when_the_old_group_has_ended(self) -> None:
        made = queue()
        assert asks(made, 1)
        assert made.free.cpu == 2
        made.renew("j", Need(1, 1, 1), ())
        assert made.free.cpu == 3

    def test_a_wish_that_is_taken_back_keeps_nothing(self) -> None:
        made = queue()
        assert not asks(made, 9)
        made.settle("j", Need(2, 2, 2), ())
        made.offer("a", Need(2, 1, 1), priority=0, order=2)
        assert made.admit() == ["a"]
        made.release("a")
        asks(made, 4)
        made.admit()
        assert made.free.cpu == 0
        made.settle("j", Need(2, 2, 2), ())
        assert made.free.cpu == 2

    def test_a_waiting_job_asks_for_what_it_was_told_last(self) -> None:
        made = queue("a")
        made.offer("a", Need(3, 1, 1), priority=0, order=2)
        assert made.admit() == []
        made.offer("a", Need(2, 1, 1), priority=0, order=2)
        assert made.admit() == ["a"]

    def test_devices_of_both_groups_are_held_until_the_old_one_has_ended(self) -> None:
        gpus = [Device(f"g{n}", "gpu", "A100", "nvidia.com/gpu", "CUDA_VISIBLE_DEVICES") for n in range(3)]
        one = (Want(1, "gpu"),)
        made = Admission(Need(10, 100, 100), gpus)
        made.offer("j", Need(1, 1, 1, one), priority=0, order=1)
        made.offer("a", Need(1, 1, 1, one), priority=0, order=2)
        assert made.admit() == ["j", "a"]
        assert made.devices_of("j") == (("g0",),)
        assert not made.resize("j", Need(3, 1, 3, one * 3), priority=0, order=1)
        assert made.admit() == []
        made.release("a")
        made.admit()
        assert made.resize("j", Need(3, 1, 3, one * 3), priority=0, order=1)
        made.offer("b", Need(1, 1, 1, one), priority=0, order=3)
        assert made.admit() == []
        assert made.renew("j", Need(3, 1, 3, one * 3), ()) == (("g0",), ("g1",), ("g2",))
        assert made.resize("j", Need(1, 1, 1, one), priority=0, order=1)
        assert made.admit() == [], "the old group runs"
        made.renew("j", Need(1, 1, 1, one), ())
        assert made.admit() == ["b"]
