"""Which nodes are to blame for the end of an attempt, and what a job that waits for others is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.contract.nodes import Avoided, Blamed
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec
from trainyard.launcher.core import job as jobs
from trainyard.launcher.core.decide import decide
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Pending, Phase, RankSeen
from trainyard.launcher.core.sight import Append, Sight, Stop

NOW = 1000.0
LOST = EndReason.NODE_LOST


def ended(rank: int, node: str, **how: Any) -> RankSeen:
    return RankSeen(rank, Phase.ENDED, ended_at=5.0 + rank, node=node, **how)


def stopped(rank: int, why: str, node: str = "") -> RankSeen:
    return RankSeen(rank, Phase.ENDED, stopped=True, stopped_for=why, node=node)


@pytest.fixture
def event(known_nodes: Any) -> Any:
    """What is appended for two ranks (of a job that was kept away from some nodes)."""

    def make(
        ranks: list[RankSeen], state: State = State.RUNNING, avoids: tuple[Avoided, ...] = (), **changes: Any
    ) -> Any:
        head = Head("j", state, 7, 1)
        job = Job(head, spec(replicas=2, **changes), "ann", 0.0, attempt_started_at=1.0, started_at=1.0, avoids=avoids)
        made = decide(Sight(job, ranks, NOW, None, "kubernetes", "", None, lambda _: (), nodes=known_nodes("a", "b")))
        return made.event if isinstance(made, Append) else made

    return make


def names(event: Any) -> list[str]:
    return [blamed.node for blamed in event.blamed]


FOLLOWED = "another rank has failed"
RULE = {"exit_codes": [{"codes": [77], "counts_as": "infrastructure"}]}
NODE_FAULT = "node-fault: rank 1 could not start: FailedCreatePodSandBox: no network"


@pytest.mark.parametrize(
    ("ranks", "retries", "to_blame"),
    [
        pytest.param([ended(0, "a", reason=LOST, of_node=True), stopped(1, FOLLOWED, "b")], {}, ["a"], id="not the other"),
        pytest.param(
            [ended(0, "a", reason=LOST, of_node=True), ended(1, "b", reason=LOST, of_node=True)], {}, ["a", "b"], id="both"
        ),
        pytest.param(
            [ended(0, "a", reason=LOST, of_node=True), ended(1, "a", reason=LOST, of_node=True)], {}, ["a"], id="once"
        ),
        pytest.param(
            [ended(0, "a", exit_code=1), ended(1, "b", reason=LOST, of_node=True)], {}, ["b"], id="errors blame nobody"
        ),
        pytest.param([ended(0, "a", exit_code=1), stopped(1, FOLLOWED, "b")], {}, [], id="an error"),
        pytest.param([ended(0, "a", exit_code=77), stopped(1, FOLLOWED, "b")], RULE, ["a"], id="a code of the machine's"),
        pytest.param([ended(0, "a", exit_code=7), stopped(1, FOLLOWED, "b")], RULE, [], id="another code"),
        pytest.param([ended(0, "a", reason=EndReason.PREEMPTED), stopped(1, FOLLOWED, "b")], {}, [], id="preempted"),
        pytest.param([ended(0, "a", reason=EndReason.EVICTED), stopped(1, FOLLOWED, "b")], {}, [], id="drained"),
        pytest.param([stopped(0, NODE_FAULT, "a"), stopped(1, NODE_FAULT, "b")], {}, ["b"], id="the one that did not begin"),
        pytest.param([stopped(0, "idle", "a"), stopped(1, "idle", "b")], {}, [], id="a time-out"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("left", [0, 3])
def test_who_is_to_blame(
    event: Any, ranks: list[RankSeen], retries: dict[str, Any], to_blame: list[str], left: int
) -> None:
    made = event(ranks, retries={"infrastructure": left, **retries}, timeouts={"idle": 60})
    assert made.kind in {"restarting", "failed"}
    assert names(made) == to_blame
    assert [blamed.uid for blamed in made.blamed] == [f"uid-{name}" for name in to_blame]


def test_ends_say_where_they_were(event: Any) -> None:
    made = event([ended(0, "a", reason=LOST, of_node=True), stopped(1, FOLLOWED, "b")])
    assert [ending.node for ending in made.endings] == ["a", "b"]


AVOIDS = (Avoided(node="gone", why="w"), Avoided(node="a", why="node-lost in an earlier attempt of this job"))
SAID = (Avoided(node="a", why="ann says so: fans", by_hand=True),)


def unplaced(since: float) -> list[RankSeen]:
    pending = Pending(EndReason.UNSCHEDULABLE, "0/2 nodes: 2 lack nvidia.com/gpu", since)
    return [RankSeen(0, Phase.STARTING, pending=pending), RankSeen(1, Phase.RUNNING, node="b")]


def test_a_job_that_waits_is_told_what_it_avoids(event: Any) -> None:
    told = event(unplaced(NOW - 299), State.STARTING, AVOIDS)
    assert told.message == (
        "0/2 nodes: 2 lack nvidia.com/gpu; avoided: gone (w), a (node-lost in an earlier attempt of this job); "
        "it waits 5 m 0 s for others"
    )
    assert event(unplaced(NOW - 299), State.STARTING).message == "0/2 nodes: 2 lack nvidia.com/gpu"


def test_after_a_while_it_takes_the_node_of_longest_ago_that_could_be_taken(event: Any) -> None:
    stop = event(unplaced(NOW - 301), State.STARTING, AVOIDS)
    assert isinstance(stop, Stop)
    assert stop.why.startswith("unschedulable: rank 0 could not be placed within 5 m 0 s: 0/2 nodes")
    made = event([stopped(rank, stop.why) for rank in (0, 1)], State.STARTING, AVOIDS, retries={"infrastructure": 0})
    assert (made.kind, made.budget, made.used, made.allowed) == ("restarting", "none", {}, ("a",))
    assert made.message.endswith("; a is avoided no longer")


def test_what_somebody_has_said_is_kept(event: Any) -> None:
    told = event(unplaced(NOW - 9999), State.STARTING, SAID)
    assert told.message == "0/2 nodes: 2 lack nvidia.com/gpu; avoided: a (ann says so: fans)"


def test_a_job_remembers_until_it_has_waited_in_vain() -> None:
    job = Job(Head("j", State.RUNNING, 1, 1), spec(), "ann", 0.0)

    def after(job: Job, seq: int, at: float, *names: str, allowed: tuple[str, ...] = ()) -> Job:
        blamed = tuple(Blamed(node=name, uid="u", reason=LOST) for name in names)
        event = events.JobRestarting(
            job_id="j",
            attempt=1,
            reason=LOST,
            message="m",
            budget="none",
            budget_left=0,
            blamed=blamed,
            allowed=allowed,
        )
        running = replace(job, head=replace(job.head, state=State.RUNNING))
        return jobs.apply(running, event, seq, at)

    def known(job: Job) -> list[tuple[float, str]]:
        return [(at, blamed.node) for at, blamed in job.blamed]

    job = after(after(job, 2, 2.0, "a"), 3, 3.0, "b")
    assert known(job) == [(2.0, "a"), (3.0, "b")]
    assert known(after(job, 4, 4.0, "a")) == [(3.0, "b"), (4.0, "a")]
    job = after(job, 4, 4.0, allowed=("a",))
    assert (known(job), job.allowed) == ([(3.0, "b")], ("a",))
    job = after(job, 5, 5.0, "a")
    assert (known(job), job.allowed) == ([(3.0, "b"), (5.0, "a")], ())
