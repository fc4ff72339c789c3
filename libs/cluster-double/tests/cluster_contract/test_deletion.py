"""DELETE: answers, preconditions, finalizers, whole collections, namespaces."""

from __future__ import annotations

from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_config, a_pod


def test_a_deletion_says_what_it_deleted(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a"))
    reply = api.delete(f"{configs}/a")
    assert (reply.code, reply.body["status"]) == (200, "Success")
    assert reply.body["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert api.delete(f"{configs}/a").code == 404


def test_preconditions(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a"))["metadata"]
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        reply = api.delete(f"{configs}/a", {"preconditions": wrong})
        assert (reply.code, reply.body["reason"]) == (409, "Conflict")
    right = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}
    assert api.delete(f"{configs}/a", {"preconditions": right}).code == 200


def test_a_dry_deletion(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    assert api.delete(f"{configs}/a", dryRun="All").code == 200
    assert api.get(f"{configs}/a").code == 200


def test_finalizers_hold_an_object(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", finalizers=["example.com/x"]))
    held = api.delete(f"{configs}/a").body["metadata"]
    assert held["deletionTimestamp"]
    assert held["deletionGracePeriodSeconds"] == 0
    assert api.get(f"{configs}/a").code == 200
    more = api.patch(f"{configs}/a", {"metadata": {"finalizers": ["example.com/x", "example.com/y"]}})
    assert (more.code, more.causes[0]["reason"]) == (422, "FieldValueForbidden")
    assert api.patch(f"{configs}/a", {"metadata": {"finalizers": None}}).code == 200
    assert api.get(f"{configs}/a").code == 404


def test_a_policy_that_is_none(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    reply = api.delete(f"{configs}/a", propagationPolicy="Nonsense")
    assert (reply.code, reply.causes[0]["field"]) == (422, "propagationPolicy")


def test_a_selection_is_deleted(api: Api, configs: str) -> None:
    for name in ("a", "b", "c"):
        api.made(configs, a_config(name, labels={"go": "no" if name == "c" else "yes"}))
    reply = api.delete(configs, labelSelector="go=yes")
    assert sorted(reply.names) == ["a", "b"]
    assert api.get(configs, labelSelector="go").names == ["c"]


def test_a_pod_on_no_node_goes_at_once(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeSelector={"nowhere": "x"}))
    reply = api.delete(f"{pods}/a")
    assert reply.body["kind"] == "Pod"
    assert reply.body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert api.get(f"{pods}/a").code == 404


def test_a_pod_on_a_node_has_time_to_end(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeName="contract-nowhere", terminationGracePeriodSeconds=20))
    held = api.delete(f"{pods}/a").body["metadata"]
    assert held["deletionGracePeriodSeconds"] == 20
    assert held["generation"] == 2
    shorter = api.delete(f"{pods}/a", {"gracePeriodSeconds": 5}).body["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert api.delete(f"{pods}/a", {"gracePeriodSeconds": 0}).code == 200
    assert api.get(f"{pods}/a").code == 404


def test_a_namespace_takes_everything_with_it(api: Api) -> None:
    name = "contract-short-lived"
    eventually(lambda: api.get(f"/api/v1/namespaces/{name}").code == 404, 60)
    api.made("/api/v1/namespaces", {"metadata": {"name": name}})
    inside = f"/api/v1/namespaces/{name}/configmaps"
    api.made(inside, a_config("a"))
    api.made(f"/api/v1/namespaces/{name}/pods", a_pod("a", nodeSelector={"nowhere": "x"}))
    going = api.delete(f"/api/v1/namespaces/{name}").body
    assert going["status"]["phase"] == "Terminating"
    assert going["spec"]["finalizers"] == ["kubernetes"]
    late = api.post(inside, a_config("late"))
    # Either it is still going, or it is gone already.
    assert (late.code, late.body["reason"]) in {(403, "Forbidden"), (404, "NotFound")}
    if late.code == 403:
        assert late.causes[0]["reason"] == "NamespaceTerminating"
    eventually(lambda: api.get(f"/api/v1/namespaces/{name}").code == 404, 60)
    assert api.get(f"{inside}/a").code == 404


def test_a_namespace_waits_for_finalizers(api: Api) -> None:
    name = "contract-held"
    eventually(lambda: api.get(f"/api/v1/namespaces/{name}").code == 404, 60)
    api.made("/api/v1/namespaces", {"metadata": {"name": name}})
    inside = f"/api/v1/namespaces/{name}/configmaps"
    api.made(inside, a_config("a", finalizers=["example.com/x"]))
    api.delete(f"/api/v1/namespaces/{name}")
    eventually(lambda: api.get(f"{inside}/a").body["metadata"].get("deletionTimestamp"), 60)
    late = api.post(inside, a_config("late"))
    assert (late.code, late.causes[0]["reason"]) == (403, "NamespaceTerminating")
    api.patch(f"{inside}/a", {"metadata": {"finalizers": None}})
    eventually(lambda: api.get(f"/api/v1/namespaces/{name}").code == 404, 60)


def test_a_new_namespace_is_furnished(api: Api, ns: str) -> None:
    eventually(lambda: api.get(f"/api/v1/namespaces/{ns}/serviceaccounts/default").code == 200)
    assert api.get(f"/api/v1/namespaces/{ns}").body["metadata"]["labels"] == {"kubernetes.io/metadata.name": ns}
    assert api.delete("/api/v1/namespaces/kube-system").code == 403
