"""Whatever happens to the ranks, in whatever order: every job comes to an end, by legal steps, within its budgets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from trainyard.common.contract import events
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec
from trainyard.launcher.core import job as jobs
from trainyard.launcher.core.decide import decide
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.sight import Append, Sight, Start, Stop

RETRIES = {"user": 1, "infrastructure": 1, "preemption": 1}
LIVES = frozenset({Phase.STARTING, Phase.RUNNING})


class Walk:
    """A job, a machine that does anything to it, and the launcher's decisions."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        made = spec(processes=3, retries=RETRIES, timeouts={"active": 60, "idle": 30})
        self.job = Job(Head("j", State.QUEUED, 2, 0), made, "ann", 0.0, events.Resolution(image="host"))
        self.ranks: list[RankSeen] = []
        self.now = 100.0
        self.kinds: list[str] = []
        self.disturbances = chance.choice([0, 1, 2])  # few, or they would free what is stuck

    def turn(self) -> None:
        self.now += 0.5
        decision = decide(
            Sight(self.job, tuple(self.ranks), self.now, None, "local", "node", "/out", lambda _: ("last",))
        )
        if isinstance(decision, Append):
            self.append(decision.event)
        elif isinstance(decision, Start):
            self.ranks = [self.born(rank) for rank in self.ranks or [RankSeen(n, Phase.ABSENT) for n in range(3)]]
        elif isinstance(decision, Stop):
            self.ranks = [self.stopped(rank, decision.why) for rank in self.ranks]
        else:
            self.ranks = [self.lived(rank) for rank in self.ranks]
            self.now += self.chance.choice([0, 0, 20])
        if self.disturbances and self.chance.random() < 0.05:
            self.disturbances -= 1
            self.disturb()

    def append(self, event: events.JobEvent) -> None:
        before = self.job.attempt
        self.job = jobs.apply(self.job, event, self.job.head.seq + 1, self.now)  # raises on an illegal step
        self.kinds.append(event.kind)
        if self.job.attempt != before:
            self.ranks = []

    def disturb(self) -> None:
        """Somebody cancels, or deletes the job's folder."""
        if self.job.head.terminal:
            return
        if self.chance.random() < 0.5 and self.job.head.state is not State.CANCELLING:
            self.append(events.JobCancelling(job_id="j", by="ann"))
        elif not any(rank.phase in LIVES for rank in self.ranks) or self.job.head.state is State.RUNNING:
            self.ranks = []

    def born(self, rank: RankSeen) -> RankSeen:
        if rank.phase is not Phase.ABSENT:
            return rank
        refused = RankSeen(rank.rank, Phase.ENDED, reason=EndReason.START, message="no", ended_at=self.now)
        absent, starting = rank, RankSeen(rank.rank, Phase.STARTING)
        return self.chance.choices([starting, absent, refused], [8, 1, 1])[0]

    def stopped(self, rank: RankSeen, why: str) -> RankSeen:
        if rank.phase is Phase.ABSENT:
            return replace(rank, stopped=True)
        if rank.phase not in LIVES or self.chance.random() < 0.3:
            return rank
        how = self.chance.choice([{"signal": 15}, {"exit_code": 0}, {"exit_code": 1}])
        ours = self.chance.random() < 0.8  # else it ended by itself in that moment
        made = RankSeen(rank.rank, Phase.ENDED, ended_at=self.now, stopped=ours, stopped_for=why if ours else "", **how)
        return made if self.chance.random() < 0.9 else RankSeen(rank.rank, Phase.VANISHED, ended_at=self.now)

    def lived(self, rank: RankSeen) -> RankSeen:
        if rank.phase is Phase.STARTING:
            return replace(rank, phase=Phase.RUNNING)
        if rank.phase is not Phase.RUNNING:
            return rank
        dead = replace(rank, phase=Phase.ENDED, ended_at=self.now)
        return self.chance.choices(
            [
                rank,
                replace(dead, exit_code=0),
                replace(dead, exit_code=1),
                replace(dead, signal=9, reason=EndReason.OOM),
                replace(dead, exit_code=0, reason=EndReason.EVICTED),
                replace(dead, phase=Phase.VANISHED),
            ],
            [6, 6, 1, 1, 1, 1],
        )[0]


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_every_walk_ends(seed: int) -> None:
    walk = Walk(Random(seed))
    for _ in range(400):
        if walk.job.head.terminal:
            break
        walk.turn()
    else:
        raise AssertionError(f"{walk.job.head.state} for ever: {walk.kinds}, {walk.ranks}")
    count = Counter(walk.kinds)
    assert count["restarting"] <= sum(RETRIES.values())
    assert count["starting"] <= count["restarting"] + 1
    if walk.job.head.state is State.SUCCEEDED:
        assert [rank.exit_code for rank in walk.ranks] == [0, 0, 0]
    if walk.job.head.state in {State.SUCCEEDED, State.CANCELLED, State.FAILED, State.LOST}:
        assert not any(rank.phase in LIVES for rank in walk.ranks)
