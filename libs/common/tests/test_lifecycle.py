"""No order of events, with doubles and strays, reaches an illegal state or leaves a terminal one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trainyard.common.contract import events
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.lifecycle.states import BUDGET_OF, EndReason, State
from trainyard.common.lifecycle.transitions import RULES, Head, IllegalTransition, allows, fold, step

SPEC = JobSpec(name="a", framework="generic", command=["true"])  # type: ignore[arg-type]
FILL: dict[str, Any] = {
    "spec": SPEC,
    "resolution": events.Resolution(image="host"),
    "message": "m",
    "backend": "local",
    "node": "n",
    "number": 1,
    "reason": EndReason.ERROR,
    "budget": "user",
    "budget_left": 0,
    "by": "me",
    "role": "worker",
    "before": 1,
    "replicas": 2,
}


def event(kind: str, attempt: int = 1) -> events.JobEvent:
    model = events.JOB_EVENTS[kind]
    known = {
        name: value
        for name, value in FILL.items()
        if name in model.model_fields and model.model_fields[name].is_required()
    }
    if "attempt" in model.model_fields:
        known["attempt"] = attempt
    return model(job_id="j", **known)


def test_every_event_has_a_rule_and_every_state_an_entry() -> None:
    assert set(RULES) == set(events.JOB_EVENTS)
    assert {r.target for r in RULES.values()} - {None} == set(State)
    assert set(BUDGET_OF) == set(EndReason)


def test_nothing_follows_a_terminal_state() -> None:
    for state in State:
        if state.terminal:
            assert not any(state in rule.sources for rule in RULES.values())


def test_every_state_can_still_end() -> None:
    reach: set[State | None] = {s for s in State if s.terminal}
    for _ in State:
        reach |= {source for r in RULES.values() if r.target in reach for source in r.sources}
    assert set(State) <= reach


def test_an_illegal_step_tells_the_history() -> None:
    head, _ = step(Head("j"), event("submitted"))
    with pytest.raises(IllegalTransition, match="job j is submitted; 'running' cannot follow submitted"):
        step(head, event("running"))


class Log(RuleBasedStateMachine):
    """Writers append whatever comes to their mind; the log takes what `step` allows, as the services do."""

    def __init__(self) -> None:
        super().__init__()
        self.head = Head("j")
        self.stored: list[tuple[int, events.JobEvent]] = []
        self.ended: State | None = None

    @rule(kind=st.sampled_from(sorted(RULES)), attempt=st.integers(1, 3))
    def append(self, kind: str, attempt: int) -> None:
        candidate = event(kind, attempt)
        if not allows(self.head, kind):
            before = self.head
            with pytest.raises(IllegalTransition):
                step(self.head, candidate)
            assert self.head == before
            return
        seq = len(self.stored) + 1
        self.head, _ = step(self.head, candidate, seq)
        self.stored.append((seq, candidate))

    @rule(data=st.data())
    def a_double_of_an_old_event_changes_nothing_that_has_ended(self, data: st.DataObject) -> None:
        if self.stored and self.head.terminal:
            _, old = data.draw(st.sampled_from(self.stored))
            assert not allows(self.head, old.kind)

    @invariant()
    def terminal_is_for_ever(self) -> None:
        if self.ended is not None:
            assert self.head.state is self.ended
        if self.head.terminal:
            self.ended = self.head.state

    @invariant()
    def the_last_event_of_each_kind_tells_the_same_as_the_whole_log(self) -> None:
        last = {item.kind: (seq, item) for seq, item in self.stored}
        folded = fold("j", last.values())
        assert (folded.state, folded.seq, folded.attempt) == (self.head.state, self.head.seq, self.head.attempt)


Log.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestLog = Log.TestCase
