"""When all jobs keep away from a node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trainyard.common.contract.nodes import BY_ITSELF, NodeAvoided, NodeForgiven
from trainyard.launcher.core.avoiding.record import REMEMBERED, Record
from trainyard.launcher.core.avoiding.verdict import Rules, room, verdict

NOW = 1_000_000.0
HOUR = 3600.0
RULES = Rules()
Strikes = list[tuple[str, int, float]]


@pytest.mark.parametrize(
    ("strikes", "avoided"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param([("a", 1, NOW), ("b", 1, NOW)], False, id="two jobs"),
        pytest.param([("a", 1, NOW - 3599), ("b", 1, NOW), ("c", 1, NOW)], True, id="three jobs"),
        pytest.param([("a", 1, NOW - 3600), ("b", 1, NOW), ("c", 1, NOW)], False, id="one of them longer ago"),
        pytest.param([("a", n, NOW) for n in range(1, 5)], False, id="four attempts of one job"),
        pytest.param([("a", n, NOW) for n in range(1, 6)], True, id="five attempts of one job"),
        pytest.param([("a", 1, NOW)] * 9, False, id="one attempt, told again and again"),
    ],
)
def test_by_jobs_or_by_attempts(record: Callable[..., Record], strikes: Strikes, avoided: bool) -> None:
    found = verdict(record(*strikes, seq=7), RULES, NOW, may=True)
    assert (found is not None) is avoided
    if found is not None:
        assert isinstance(found, NodeAvoided)
        assert (found.node, found.uid, found.number, found.by) == ("n", "uid-n", 7, BY_ITSELF)
        assert (found.seconds, found.until) == (6 * HOUR, NOW + 6 * HOUR)


THREE = [("a", 1, NOW), ("b", 1, NOW), ("c", 2, NOW)]


@pytest.mark.parametrize(
    ("lasted", "ended", "hours"),
    [
        (0.0, 0.0, 6),
        (6 * HOUR, NOW, 12),
        (24 * HOUR, NOW - HOUR, 48),
        (48 * HOUR, NOW - HOUR, 48),
        (24 * HOUR, NOW - REMEMBERED, 6),
    ],
)
def test_twice_as_long_when_it_happens_again(
    record: Callable[..., Record], lasted: float, ended: float, hours: int
) -> None:
    found = verdict(record(*THREE, lasted=lasted, until=ended), RULES, NOW, may=True)
    assert isinstance(found, NodeAvoided)
    assert found.seconds == hours * HOUR


def test_the_words(record: Callable[..., Record]) -> None:
    found = verdict(record(*THREE), RULES, NOW, may=True)
    assert found is not None
    assert found.message == "3 attempts of 3 jobs ended there within 1 h 0 m: node-lost"


@pytest.mark.parametrize(
    ("rules", "may", "until"),
    [
        pytest.param(Rules(on=False), True, 0.0, id="switched off"),
        pytest.param(RULES, False, 0.0, id="too many are avoided"),
        pytest.param(RULES, True, NOW + 1, id="avoided already"),
    ],
)
def test_not_then(record: Callable[..., Record], rules: Rules, may: bool, until: float) -> None:
    assert verdict(record(*THREE, until=until), rules, NOW, may=may) is None


def test_a_node_that_has_done_well_is_forgiven(record: Callable[..., Record]) -> None:
    found = verdict(record(until=NOW + 1, well="job a has run there", seq=3), RULES, NOW, may=True)
    assert isinstance(found, NodeForgiven)
    assert (found.number, found.message) == (3, "job a has run there")


@pytest.mark.parametrize(("nodes", "avoided"), [(0, 0), (1, 0), (2, 1), (3, 1), (7, 1), (8, 2), (1000, 250)])
def test_only_a_part_of_a_cluster(nodes: int, avoided: int) -> None:
    assert room(nodes) == avoided
