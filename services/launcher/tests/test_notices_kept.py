"""How many of a cluster's events are kept, and which."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.clock import SystemClock
from trainyard.launcher.adapters.kubernetes import notices
from trainyard.launcher.adapters.kubernetes.notices import Notices
from trainyard.launcher.core.cluster.notices import Notice
from trainyard.launcher.core.manifests import Offers


def notice(root: str, number: int = 0, at: float = 1.0) -> Notice:
    return Notice("ml", f"{root}-worker-{number}", "FailedMount", "x", at, at)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(notices, "ATTEMPTS", 3)
    monkeypatch.setattr(notices, "EACH", 2)
    nobody: Any = None
    return Notices(nobody, SystemClock(), [None], Offers())


def test_the_oldest_go_first(kept: Any) -> None:
    names = [f"a-k3m9q7rt-{attempt}" for attempt in range(5)]
    for name in names:
        for number in range(4):
            kept._on_event(None, notice(name, number))
    assert [len(kept.of("ml", name)) for name in names] == [0, 0, 2, 2, 2]
    assert [told.name[-1] for told in kept.of("ml", names[-1])] == ["2", "3"]
    assert not kept.of("other", names[-1])


def test_an_older_one_does_not_take_the_place_of_a_newer(kept: Any) -> None:
    root = "a-k3m9q7rt-1"
    kept._on_event(None, notice(root, at=5.0))
    kept._on_event(None, notice(root, at=2.0))
    assert [told.at for told in kept.of("ml", root)] == [5.0]


def test_each_try_names_another_pod_and_it_is_refused_since_the_first(kept: Any) -> None:
    root = "a-k3m9q7rt-1"

    def refused(at: float, says: str) -> Notice:
        return Notice("ml", f"{root}-worker", "FailedCreate", f'pods "{at}" is forbidden: {says}', at, at)

    for at in (10.0, 20.0, 300.0):
        kept._on_event(None, refused(at, 'serviceaccount "a" not found'))
    assert [(told.since, told.at) for told in kept.of("ml", root)] == [(10.0, 300.0)]
    kept._on_event(None, refused(400.0, "exceeded quota: q"))
    assert [told.since for told in kept.of("ml", root)] == [400.0]
    kept._on_event(None, refused(5000.0, "exceeded quota: q"))
    assert [told.since for told in kept.of("ml", root)] == [5000.0], "its pods were made meanwhile"
