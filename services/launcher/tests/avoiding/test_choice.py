"""Which nodes the next attempt of a job keeps away from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from trainyard.common.contract.inventory import Node
from trainyard.common.contract.nodes import BY_ITSELF, Blamed
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.avoiding import settings
from trainyard.launcher.core.avoiding.choice import choose
from trainyard.launcher.core.avoiding.record import Record
from trainyard.launcher.core.avoiding.verdict import Rules
from trainyard.launcher.core.job import Job

NOW = 1000.0


def struck(job: Job, *names: str, uid: str | None = "uid-{}", allowed: tuple[str, ...] = ()) -> Job:
    """Blamed in this order."""
    blamed = [Blamed(node=n, uid=uid and uid.format(n), reason=EndReason.NODE_LOST) for n in names]
    return replace(job, blamed=tuple(enumerate(blamed, start=100)), allowed=allowed)


@pytest.fixture
def chosen(job: Callable[..., Job], node: Callable[..., Node], record: Callable[..., Record]) -> Callable[..., object]:
    """The names that are avoided, of a cluster of n, o and p; `avoided`: who avoids n for all jobs."""

    def make(made: Job, avoided: str = "", rules: Rules | None = None, **changes: object) -> list[str]:
        nodes = [node(name, **changes) for name in "nop"]
        known = {"n": record(until=NOW + 60, by=avoided, lasted=30.0, why="w")} if avoided else {}
        return [item.node for item in choose(made, nodes, known, rules or Rules(), NOW).avoids]

    return make


def test_its_own_and_those_of_all_jobs(job: Callable[..., Job], chosen: Callable[..., list[str]]) -> None:
    assert chosen(job()) == []
    assert chosen(struck(job(), "o")) == ["o"]
    assert chosen(job(), avoided=BY_ITSELF) == ["n"]
    assert chosen(struck(job(), "o"), avoided="ann") == ["o", "n"]
    assert chosen(struck(job(), "o", allowed=("n",)), avoided=BY_ITSELF) == ["o"]
    assert chosen(struck(job(), "o", allowed=("n",)), avoided="ann") == ["o", "n"], "a person's word is kept"
    assert chosen(struck(job(), "o"), avoided="ann", rules=Rules(on=False)) == ["n"]
    assert chosen(struck(job(), "o"), avoided=BY_ITSELF, rules=Rules(on=False)) == []


def test_a_node_that_is_no_more_or_another_is_not_avoided(
    job: Callable[..., Job], chosen: Callable[..., list[str]]
) -> None:
    assert chosen(struck(job(), "gone")) == []
    assert chosen(struck(job(), "o"), uid="another") == []
    assert chosen(job(), avoided="ann", uid="another") == []
    assert chosen(struck(job(), "o", uid=None), created_at=99.0) == ["o"]
    assert chosen(struck(job(), "o", uid=None), created_at=101.0) == []


def test_without_another_node_the_one_of_longest_ago_is_taken(
    job: Callable[..., Job], node: Callable[..., Node], record: Callable[..., Record]
) -> None:
    made, nodes = struck(job(), "o", "n"), [node("n"), node("o")]
    choice = choose(made, nodes, {}, Rules(), NOW)
    assert [item.node for item in choice.avoids] == ["n"]
    assert choice.message == (
        "there is no other node: it takes o (node-lost in an earlier attempt of this job) all the same"
    )
    by_hand = {name: replace(record(until=NOW + 60, by="ann"), machine=node(name).itself) for name in "no"}
    kept = choose(job(), nodes, by_hand, Rules(), NOW)
    assert ([item.node for item in kept.avoids], kept.message) == (["n", "o"], "")


def test_where_nodes_cannot_be_seen_names_are_all_that_is_known(job: Callable[..., Job]) -> None:
    assert [item.node for item in choose(struck(job(), "o", uid=None), None, {}, Rules(), NOW).avoids] == ["o"]


def test_settings() -> None:
    assert settings.parse(None) == settings.parse(" ") == Rules()
    assert settings.parse("off") == Rules(on=False)
    made = settings.parse("jobs=2, attempts=9,window=10m,avoid=1h,most=12h,wait=30s")
    assert made == Rules(jobs=2, attempts=9, window=600.0, avoid=3600.0, most=43_200.0, patience=30.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("jobs=0", "jobs=0 is not a number from 1 to 100"),
        ("jobs=many", "jobs=many is not a number"),
        ("window=3", "window=3: a duration is"),
        ("avoid=30d", "avoid=30d is not within 1 m 0 s to 7 d 0 h"),
        ("most=1h", "`avoid` is longer than `most`"),
        ("nodes=3", "'nodes=3' says nothing of bad nodes"),
        ("on", "'on' says nothing of bad nodes"),
    ],
)
def test_faults_of_the_setting(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match="TRAINYARD_BAD_NODES") as caught:
        settings.parse(text)
    assert says in str(caught.value)
