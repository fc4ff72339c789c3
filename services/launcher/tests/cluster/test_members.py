"""Launchers that share a cluster, on Leases of an API server that comes and goes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import members

pytestmark = pytest.mark.integration
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
async def both(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What each of two launchers says of who lives, whenever that changes."""
    if cluster.double is None:
        pytest.skip("trouble of the API server can only be planned on the double")
    monkeypatch.setattr(members, "RENEW", 0.2)
    monkeypatch.setattr(members, "DEAD_AFTER", 1.0)
    monkeypatch.setattr(members, "FORGOTTEN_AFTER", 1.5)
    await cluster.kill("a")
    shares = [(await cluster.start(name))._parts.share for name in ("a", "b")]
    await eventually(lambda: all(share._held.living == {"a", "b"} for share in shares))
    await asyncio.sleep(1.5)  # each has seen its own Lease for as long as one lasts
    said: list[frozenset[str]] = []
    for share in shares:
        share.on_change(lambda share=share: said.append(share._held.living))
    return said


async def test_an_outage_that_is_longer_than_a_lease_kills_nobody(cluster: Any, both: Any) -> None:
    before = {item["metadata"]["uid"] for item in cluster.call("GET", LEASES)["items"]}
    cluster.double.faults.outage(3.0)
    await asyncio.sleep(3.0)
    await eventually(lambda: len(cluster.double.journal.matching("^PATCH .*/leases/")) > 0)
    await asyncio.sleep(4.0)
    assert both == []
    assert {item["metadata"]["uid"] for item in cluster.call("GET", LEASES)["items"]} == before


async def test_a_launcher_that_is_killed_is_dead_all_the_same(cluster: Any, both: Any) -> None:
    await cluster.kill("b")
    await eventually(lambda: both == [{"a"}], within=10)
    await eventually(lambda: len(cluster.call("GET", LEASES)["items"]) == 1, within=10)
