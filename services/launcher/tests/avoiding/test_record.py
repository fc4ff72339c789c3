"""What the log says of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from trainyard.common.contract.nodes import BY_ITSELF, Blamed, Machine, NodeAvoided, NodeForgiven
from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.avoiding.record import MOST_STRIKES, Record, Strike, over, struck, succeeded, told

STRIKE = Strike("a", 1, 100.0, "node-lost")


def blamed(uid: str | None = "uid-n", boot: str | None = None) -> Blamed:
    return Blamed(node="n", uid=uid, boot=boot, reason=EndReason.NODE_LOST)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param(("u1", "b1"), ("u1", "b1"), True, id="itself"),
        pytest.param(("u1", "b1"), ("u1", "b2"), True, id="booted again: a kernel that panics does that"),
        pytest.param(("u1", "b1"), ("u2", "b1"), True, id="only the object was made anew"),
        pytest.param(("u1", "b1"), ("u2", "b2"), False, id="another machine"),
        pytest.param(("u1", None), ("u2", None), False, id="another, and nobody knows the boot"),
        pytest.param((None, None), ("u2", None), False, id="nobody knows"),
    ],
)
def test_which_node_is_the_same(first: tuple[str, str], second: tuple[str, str], same: bool) -> None:
    one, other = (Machine(node="n", uid=uid, boot=boot) for uid, boot in (first, second))
    assert one.is_same(other) is same
    assert not one.is_same(other.model_copy(update={"node": "m"}))


def test_strikes_add_up_for_the_same_node_only() -> None:
    once = struck(None, blamed(), STRIKE, ["nvidia.com/gpu"])
    twice = struck(once, blamed(), replace(STRIKE, job_id="b"), [])
    assert twice is not None
    assert [strike.job_id for strike in twice.strikes] == ["a", "b"]
    assert twice.asked == {"nvidia.com/gpu"}
    another = struck(twice, blamed("uid-other"), STRIKE, [])
    assert another is not None
    assert (another.strikes, another.machine.uid) == ((STRIKE,), "uid-other")


def test_a_node_that_is_gone_is_not_judged(record: Callable[..., Record]) -> None:
    assert struck(None, blamed(uid=None), STRIKE, []) is None
    known = record(("a", 1, 1.0))
    assert struck(known, blamed(uid=None), STRIKE, []) is known


def test_strikes_are_bounded() -> None:
    known: Record | None = None
    for number in range(1000):
        known = struck(known, blamed(), replace(STRIKE, attempt=number), [])
    assert known is not None
    assert len(known.strikes) == MOST_STRIKES
    assert known.strikes[-1].attempt == 999


@pytest.mark.parametrize(
    ("began", "ended", "asked", "clears"),
    [
        pytest.param(1000.0, 1600.0, ["gpu"], True, id="ten minutes"),
        pytest.param(1000.0, 1599.0, ["gpu"], False, id="not quite"),
        pytest.param(0.0, 700.0, ["gpu"], True, id="it ran when others met trouble, and ten minutes more"),
        pytest.param(0.0, 699.0, ["gpu"], False, id="it ran before the trouble"),
        pytest.param(1000.0, 9999.0, [], False, id="without what the others had"),
    ],
)
def test_a_success_speaks_for_a_node(
    record: Callable[..., Record], began: float, ended: float, asked: list[str], clears: bool
) -> None:
    known = record(("a", 1, 100.0), asked=frozenset({"gpu"}), lasted=6.0, until=50.0)
    after = succeeded(known, "b", began, ended, asked)
    assert (after == known) is not clears
    if clears:
        assert (after.strikes, after.lasted, after.well) == ((), 0.0, "")


def avoided(by: str, at: float, seconds: float, number: int = 0) -> NodeAvoided:
    return NodeAvoided(node="n", uid="uid-n", number=number, by=by, seconds=seconds, until=at + seconds, message="w")


def test_a_success_ends_a_time_of_being_avoided_that_nobody_asked_for() -> None:
    known = told(None, avoided(BY_ITSELF, 100.0, 5000.0), 5, 100.0)
    assert (known.until, known.lasted, known.by_hand, known.seq) == (5100.0, 5000.0, False, 5)
    assert succeeded(known, "b", 0.0, 699.0, []).well == ""
    assert succeeded(known, "b", 0.0, 700.0, []).well == "job b has run there since and succeeded"
    by_hand = told(None, avoided("ann", 100.0, 5000.0), 5, 100.0)
    assert by_hand.by_hand
    assert succeeded(by_hand, "b", 0.0, 700.0, []).well == ""


def test_forgiven_is_forgotten(record: Callable[..., Record]) -> None:
    known = record(("a", 1, 1.0), until=50.0, lasted=40.0, asked=frozenset({"gpu"}))
    after = told(known, NodeForgiven(node="n", uid="uid-n", number=1, by="ann"), 9, 10.0)
    assert after == Record(Machine(node="n", uid="uid-n"), seq=9, heard=10.0)


def test_being_avoided_begins_anew_for_another_node(record: Callable[..., Record]) -> None:
    known = told(record(lasted=40.0), avoided("ann", 0.0, 60.0), 3, 0.0)
    assert known.lasted == 40.0
    other = told(known, avoided(BY_ITSELF, 0.0, 60.0).model_copy(update={"uid": "uid-other"}), 4, 0.0)
    assert (other.lasted, other.asked, other.machine.uid) == (60.0, frozenset(), "uid-other")


def test_a_record_ends() -> None:
    known = told(None, avoided(BY_ITSELF, 100.0, 5000.0), 5, 100.0)
    week = 7 * 86_400.0
    assert not over(known, 5100.0 + week)
    assert over(known, 5101.0 + week)
