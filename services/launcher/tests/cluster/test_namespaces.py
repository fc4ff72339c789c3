"""A launcher of some namespaces asks for nothing outside of them, and works there as everywhere."""

from __future__ import annotations

import re
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import run
from trainyard.common.contract import crd
from trainyard.common.logs.reader import LogStore
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes.api import USER_AGENT

pytestmark = pytest.mark.integration
INSIDE = re.compile(r"/namespaces/(default|other)/|/api/v1/nodes|^/apis$")


async def test_it_asks_for_nothing_outside_of_them(cluster: Any) -> None:
    if cluster.double is None:
        pytest.skip("the requests are in the double's journal")
    await cluster.kill()
    asked_before = len(cluster.double.journal.all())
    cluster.apply(crd.document())
    await cluster.start("b", frozenset({"default", "other"}))
    cluster.kubelet.plan(run(0.2, lines=["hello"]))
    job = await cluster.submit()
    assert (await cluster.until(job, "succeeded", "failed", "lost")).kind == "succeeded"
    logs = LogStore(cluster.state / "b" / "logs")
    assert [line.text for line in logs.read(job, 1, 0).lines] == ["hello"]
    await cluster.kill("b")  # the journal has a watch when it is over

    def ours() -> list[Any]:
        return [seen for seen in cluster.double.journal.all()[asked_before:] if seen.user_agent == USER_AGENT]

    expected = {f"/api/v1/namespaces/{name}/pods" for name in ("default", "other")}
    expected.add("/apis/trainyard.dev/v1alpha1/namespaces/other/trainingjobs")
    await eventually(lambda: expected <= {seen.path for seen in ours() if "watch=true" in seen.query})
    assert [seen.path for seen in ours() if not INSIDE.search(seen.path)] == []


async def test_a_job_for_another_namespace_is_refused_in_words(cluster: Any) -> None:
    await cluster.kill()
    await cluster.start("b", frozenset({"default"}))
    job = await cluster.submit(kubernetes={"namespace": "elsewhere"})
    assert "works in default only" in (await cluster.until(job, "failed", "lost")).message
