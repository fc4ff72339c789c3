"""What a cluster's rules make of new objects: quotas, limits, priorities."""

from __future__ import annotations

import pytest

from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_config, a_job, a_pod, requests

NOWHERE = {"nodeSelector": {"nowhere": "x"}}


@pytest.fixture
def quotas(ns: str) -> str:
    return f"/api/v1/namespaces/{ns}/resourcequotas"


def limit(api: Api, quotas: str, **hard: str) -> None:
    spec = {"hard": {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}}
    api.made(quotas, {"metadata": {"name": "q"}, "spec": spec})
    eventually(lambda: api.get(f"{quotas}/q").body["status"].get("hard"))


def test_a_quota_counts_objects(api: Api, quotas: str, pods: str) -> None:
    limit(api, quotas, pods="2")
    for name in ("a", "b"):
        api.made(pods, a_pod(name, **NOWHERE))
    reply = api.post(pods, a_pod("c", **NOWHERE))
    assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    assert (
        reply.body["message"]
        == 'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )
    eventually(lambda: api.get(f"{quotas}/q").body["status"]["used"] == {"pods": "2"})


def test_a_quota_counts_what_pods_ask_for(api: Api, quotas: str, pods: str) -> None:
    limit(api, quotas, requests_cpu="2")
    api.made(pods, a_pod("a", container=requests(cpu="1500m"), **NOWHERE))
    reply = api.post(pods, a_pod("b", container=requests(cpu="1"), **NOWHERE))
    assert reply.body["message"].endswith(
        "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1500m, limited: requests.cpu=2"
    )
    silent = api.post(pods, a_pod("c", **NOWHERE))
    assert silent.body["message"].endswith("failed quota: q: must specify requests.cpu for: main")


def test_a_quota_counts_accelerators(api: Api, quotas: str, pods: str) -> None:
    api.made(quotas, {"metadata": {"name": "q"}, "spec": {"hard": {"requests.nvidia.com/gpu": "4"}}})
    eventually(lambda: api.get(f"{quotas}/q").body["status"].get("hard"))
    api.made(pods, a_pod("a", container=requests(gpu="3"), **NOWHERE))
    assert api.post(pods, a_pod("b", container=requests(gpu="2"), **NOWHERE)).code == 403
    assert api.post(pods, a_pod("c", container=requests(gpu="1"), **NOWHERE)).code == 201


def test_a_quota_gives_back(api: Api, quotas: str, pods: str) -> None:
    limit(api, quotas, pods="1")
    api.made(pods, a_pod("a", **NOWHERE))
    api.delete(f"{pods}/a")
    eventually(lambda: api.post(pods, a_pod("b", **NOWHERE)).code == 201)


def test_a_refused_pod_of_a_job_is_told(api: Api, ns: str, quotas: str, jobs: str) -> None:
    limit(api, quotas, pods="0")
    api.made(jobs, a_job("a"))
    events = f"/api/v1/namespaces/{ns}/events"
    found = eventually(lambda: api.get(events, fieldSelector="reason=FailedCreate,involvedObject.name=a").body["items"])
    assert "exceeded quota: q" in found[0]["message"]
    assert found[0]["type"] == "Warning"


def test_a_pod_that_says_too_little_for_a_quota_is_told_of_its_job(
    api: Api, ns: str, quotas: str, jobs: str, pods: str
) -> None:
    limit(api, quotas, limits_cpu="1", **{"requests_ephemeral-storage": "1Gi"})
    api.made(jobs, a_job("a"))
    told = "reason=FailedCreate,involvedObject.kind=Job"
    found = eventually(lambda: api.get(f"/api/v1/namespaces/{ns}/events", fieldSelector=told).body["items"])
    assert found[0]["message"].startswith('Error creating: pods "a-')
    assert found[0]["message"].endswith("is forbidden: failed quota: q: must specify limits.cpu for: main")


def test_a_quota_of_counts_by_kind(api: Api, ns: str, quotas: str, jobs: str, configs: str) -> None:
    spec = {"hard": {"count/jobs.batch": "1", "configmaps": "50"}}
    api.made(quotas, {"metadata": {"name": "q"}, "spec": spec})
    eventually(lambda: api.get(f"{quotas}/q").body["status"].get("hard"))
    api.made(jobs, a_job("a", suspend=True))
    assert api.post(jobs, a_job("b", suspend=True)).code == 403
    assert api.post(configs, a_config("a")).code == 201


def test_limits_are_filled_in_and_kept(api: Api, ns: str, pods: str) -> None:
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}]
    api.made(f"/api/v1/namespaces/{ns}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})

    def admitted() -> bool:
        # The admission of a real server reads limits from a cache that comes a little later.
        reply = api.post(pods, a_pod("probe", container={"resources": {"limits": {"cpu": "3"}}}), dryRun="All")
        return reply.code == 403

    eventually(admitted)
    filled = api.made(pods, a_pod("a", **NOWHERE))
    assert filled["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    reply = api.post(pods, a_pod("b", container={"resources": {"limits": {"cpu": "3"}}}))
    assert reply.body["message"] == 'pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 3'


def test_priority_classes(api: Api, important: str, pods: str) -> None:
    # The admission of a real server learns of a new class a moment later.
    def made() -> bool:
        return api.post(pods, a_pod("a", priorityClassName=important, **NOWHERE)).code == 201

    eventually(made)
    assert api.get(f"{pods}/a").body["spec"]["priority"] == 1000
    unknown = api.post(pods, a_pod("b", priorityClassName="contract-unknown"))
    assert unknown.code == 403
    assert unknown.body["message"].endswith("no PriorityClass with name contract-unknown was found")
    assert api.patch(f"/apis/scheduling.k8s.io/v1/priorityclasses/{important}", {"value": 1}).code == 422


def test_pods_bear_a_lost_node_for_a_while(api: Api, pods: str) -> None:
    mine = {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    made = api.made(pods, a_pod("a", tolerations=[mine], **NOWHERE))["spec"]["tolerations"]
    assert {one["key"]: one["tolerationSeconds"] for one in made} == {
        "node.kubernetes.io/unreachable": 5,
        "node.kubernetes.io/not-ready": 300,
    }
