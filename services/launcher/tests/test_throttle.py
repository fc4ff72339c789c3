"""How fast the API server is asked for changes."""

from __future__ import annotations

import pytest

from trainyard.common.testing.clock import ManualClock
from trainyard.launcher.adapters.kubernetes.throttle import Throttle


def test_a_burst_goes_at_once_and_the_rest_evenly() -> None:
    throttle = Throttle(ManualClock(), rate=10.0, burst=3)
    waits = [throttle.place() for _ in range(6)]
    assert [max(0.0, round(wait, 6)) for wait in waits] == [0.0, 0.0, 0.0, 0.1, 0.2, 0.3]


def test_a_rest_makes_room_for_one_burst_and_no_more() -> None:
    clock = ManualClock()
    throttle = Throttle(clock, rate=10.0, burst=3)
    for _ in range(3):
        throttle.place()
    clock.at += 3600.0
    waits = [throttle.place() for _ in range(4)]
    assert [wait > 0.001 for wait in waits] == [False, False, False, True]


def test_who_is_told_to_come_back_later_stops_the_others_too() -> None:
    clock = ManualClock()
    throttle = Throttle(clock, rate=10.0, burst=3)
    throttle.pause(5.0)
    assert throttle.place() == pytest.approx(5.1)
    clock.at += 60.0
    assert throttle.place() <= 0.0
