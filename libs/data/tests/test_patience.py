"""How long a server may be away."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from trainyard.data.errors import InvalidData, Unavailable
from trainyard.data.patience import Patience

AWAY = Unavailable("it does not answer")


@dataclass
class Clock:
    time: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def test_a_server_may_be_away_for_so_long_and_no_longer() -> None:
    clock = Clock()
    trying = Patience(10, clock.now, clock.sleep)
    while clock.time < 10:
        trying.failed(AWAY)
    with pytest.raises(Unavailable):
        trying.failed(AWAY)
    assert 10 <= clock.time < 12
    assert clock.slept[:4] == [0.1, 0.2, 0.5, 1.0]


def test_what_the_caller_does_meanwhile_is_not_the_servers_time() -> None:
    clock = Clock()
    trying = Patience(10, clock.now, clock.sleep)
    trying.succeeded()
    clock.time = 3600.0
    trying.failed(AWAY)
    assert clock.slept == [0.1]


def test_another_fault_is_raised_at_once() -> None:
    clock = Clock()
    with pytest.raises(InvalidData):
        Patience(10, clock.now, clock.sleep).failed(InvalidData("no such column"))
    assert clock.slept == []


def test_no_patience_is_none() -> None:
    with pytest.raises(Unavailable):
        Patience(0).failed(AWAY)
