"""Dependents follow their owners, or not, as the deletion says."""

from __future__ import annotations

import pytest

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_config, a_job


def owned_by(owner: Json, *, blocks: bool = False) -> list[Json]:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return [{**reference, "blockOwnerDeletion": blocks}]


@pytest.fixture
def family(api: Api, configs: str) -> str:
    """owner ← child ← grandchild"""
    owner = api.made(configs, a_config("owner"))
    child = api.made(configs, a_config("child", ownerReferences=owned_by(owner, blocks=True)))
    api.made(configs, a_config("grandchild", ownerReferences=owned_by(child)))
    return configs


def gone(api: Api, path: str) -> bool:
    return api.get(path).code == 404


def test_background(api: Api, family: str) -> None:
    api.delete(f"{family}/owner", {"propagationPolicy": "Background"})
    assert gone(api, f"{family}/owner")
    eventually(lambda: gone(api, f"{family}/child") and gone(api, f"{family}/grandchild"))


def test_foreground(api: Api, family: str) -> None:
    api.patch(f"{family}/child", {"metadata": {"finalizers": ["example.com/hold"]}})
    held = api.delete(f"{family}/owner", {"propagationPolicy": "Foreground"}).body
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    eventually(lambda: api.get(f"{family}/child").body["metadata"].get("deletionTimestamp"))
    assert not gone(api, f"{family}/owner"), "it waits for its child"
    api.patch(f"{family}/child", {"metadata": {"finalizers": None}})
    eventually(lambda: gone(api, f"{family}/owner"))


def test_orphans(api: Api, family: str) -> None:
    api.delete(f"{family}/owner", {"propagationPolicy": "Orphan"})
    eventually(lambda: gone(api, f"{family}/owner"))
    assert "ownerReferences" not in api.get(f"{family}/child").body["metadata"]
    assert not gone(api, f"{family}/grandchild")


def test_an_owner_that_never_was(api: Api, configs: str) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}}
    api.made(configs, a_config("a", ownerReferences=owned_by(ghost)))
    eventually(lambda: gone(api, f"{configs}/a"))


def test_one_owner_of_two_is_enough(api: Api, configs: str) -> None:
    first, second = (api.made(configs, a_config(name)) for name in ("first", "second"))
    api.made(configs, a_config("child", ownerReferences=[*owned_by(first), *owned_by(second)]))
    api.delete(f"{configs}/first", {"propagationPolicy": "Background"})
    eventually(lambda: len(api.get(f"{configs}/child").body["metadata"]["ownerReferences"]) == 1)
    api.delete(f"{configs}/second", {"propagationPolicy": "Background"})
    eventually(lambda: gone(api, f"{configs}/child"))


def test_a_job_leaves_its_pods_unless_told_otherwise(api: Api, jobs: str, pods: str) -> None:
    for name in ("kept", "taken"):
        api.made(jobs, a_job(name, pod={"nodeSelector": {"nowhere": "x"}}))
        eventually(lambda name=name: api.get(pods, labelSelector=f"job-name={name}").names)
    reply = api.delete(f"{jobs}/kept")
    assert "child pods are preserved by default" in reply.headers["warning"]
    api.delete(f"{jobs}/taken", propagationPolicy="Background")
    eventually(lambda: not api.get(pods, labelSelector="job-name=taken").names)
    eventually(lambda: gone(api, f"{jobs}/kept"))
    assert api.get(pods, labelSelector="job-name=kept").names
