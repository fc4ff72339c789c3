"""The role that ships is what the launcher needs and no more: compared with the requests that it makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common.contract import crd
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import members, sweeping
from trainyard.launcher.adapters.kubernetes.api import USER_AGENT

pytestmark = pytest.mark.integration
ROLES = Path(__file__).resolve().parents[4] / "deploy" / "helm" / "trainyard" / "files" / "launcher-rules.yaml"
PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/[^/]+)?/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<part>[a-z]+))?)?"
)
Permission = tuple[str, str, str]
"""API group, resource, verb."""


def asked(method: str, path: str, query: str) -> Permission | None:
    """What a request needs; None for discovery, which everybody may ask. Source: kubernetes.io, "Authorization"."""
    found = PATH.fullmatch(path)
    if found is None:
        return None
    verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}.get(method, "get")
    if method == "GET" and not found["name"]:
        verb = "watch" if "watch=true" in query else "list"
    resource = f"{found['resource']}/{found['part']}" if found["part"] else found["resource"]
    return found["group"] or "", resource, verb


def granted() -> set[Permission]:
    parts = yaml.safe_load(ROLES.read_text())
    return {
        (group, resource, verb)
        for rule in (*parts["jobs"], *parts["nodes"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


async def test_the_role_allows_what_is_asked_and_nothing_else(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if cluster.double is None:
        pytest.skip("the requests are in the double's journal")
    monkeypatch.setattr(sweeping, "EVERY", 0.2)
    monkeypatch.setattr(members, "RENEW", 0.2)
    monkeypatch.setattr(members, "FORGOTTEN_AFTER", 0.5)
    monkeypatch.setattr(members, "DEAD_AFTER", 0.3)
    cluster.apply(crd.document())
    await eventually(lambda: cluster.double.journal.matching("^PATCH .*trainyard-launcher-a"))
    await cluster.kill()
    await cluster.start("b")  # sees the resource, and clears away the lease of the one that is dead
    cluster.kubelet.plan(run(0.2, lines=["hello"]))
    done = await cluster.submit(kubernetes={"keep": 0})
    await cluster.until(done, "succeeded")
    cluster.kubelet.plan(forever())
    cancelled = await cluster.submit(timeouts={"grace": 1})
    await cluster.until(cancelled, "running")
    await cluster.kill("b")
    await cluster.start("b")  # a launcher that was killed asks whether a Job that is there is its own
    await cluster.cancel(cancelled)
    await cluster.until(cancelled, "cancelled")
    await eventually(lambda: not cluster.objects(done), within=20)

    def needed() -> set[Permission]:
        ours = [seen for seen in cluster.double.journal.all() if seen.user_agent == USER_AGENT]
        return {need for seen in ours if (need := asked(seen.method, seen.path, seen.query)) is not None}

    await eventually(lambda: ("coordination.k8s.io", "leases", "delete") in needed())
    await cluster.kill("b")  # the journal has a watch when it is over

    def unused() -> set[Permission]:
        # Server-side apply needs `create` where the object is not there yet; what a TrainingJob needs has tests of its own.
        by_apply = {(group, resource, "create") for group, resource, verb in needed() if verb == "patch"}
        of_the_operator = {need for need in granted() if need[0] == "trainyard.dev" and need[2] == "patch"}
        return (
            granted() - needed() - by_apply - of_the_operator - {("batch", "jobs", "get")}
        )  # to adopt one that is there

    await eventually(lambda: not unused())
    assert needed() <= granted()
