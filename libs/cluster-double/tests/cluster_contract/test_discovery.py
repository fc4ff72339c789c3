"""What a client asks first: version, groups, resources."""

from __future__ import annotations

from trainyard.cluster_double.testing.api import Api


def test_the_version_is_a_recent_one(api: Api) -> None:
    found = api.get("/version").body
    assert found["major"] == "1"
    assert int(found["minor"].rstrip("+")) >= 30
    assert found["gitVersion"].startswith("v1.")


def test_groups_are_listed_with_their_preferred_version(api: Api) -> None:
    assert api.get("/api").body["versions"] == ["v1"]
    groups = {group["name"]: group for group in api.get("/apis").body["groups"]}
    assert {"apps", "batch", "policy", "coordination.k8s.io", "scheduling.k8s.io", "apiextensions.k8s.io"} <= set(
        groups
    )
    assert groups["batch"]["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}
    assert api.get("/apis/batch").body["preferredVersion"]["version"] == "v1"


def test_resources_of_a_group(api: Api) -> None:
    found = {one["name"]: one for one in api.get("/apis/batch/v1").body["resources"]}
    assert found["jobs"]["kind"] == "Job"
    assert found["jobs"]["namespaced"] is True
    assert set(found["jobs"]["verbs"]) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }
    assert set(found["jobs/status"]["verbs"]) == {"get", "patch", "update"}
    core = {one["name"]: one for one in api.get("/api/v1").body["resources"]}
    assert core["pods"]["shortNames"] == ["po"]
    assert core["nodes"]["namespaced"] is False
    assert {"pods/log", "pods/binding", "pods/eviction", "pods/status"} <= set(core)


def test_everything_in_one_document(api: Api) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    reply = api.get("/apis", accept=accept)
    assert "as=APIGroupDiscoveryList" in reply.headers["content-type"]
    assert reply.body["kind"] == "APIGroupDiscoveryList"
    batch = next(group for group in reply.body["items"] if group["metadata"]["name"] == "batch")
    jobs = next(one for one in batch["versions"][0]["resources"] if one["resource"] == "jobs")
    assert jobs["scope"] == "Namespaced"
    assert jobs["responseKind"]["kind"] == "Job"
    assert [part["subresource"] for part in jobs["subresources"]] == ["status"]


def test_what_is_not_served(api: Api) -> None:
    resource = api.get("/apis/batch/v1/nonsense")
    assert (resource.code, resource.body["reason"]) == (404, "NotFound")
    assert resource.body["message"] == "the server could not find the requested resource"
    group = api.get("/apis/nonsense.example.com/v1/things")
    assert (group.code, group.text) == (404, "404 page not found\n")


def test_methods_that_a_path_does_not_take(api: Api, configs: str) -> None:
    for method, path in (("PUT", configs), ("POST", f"{configs}/a"), ("DELETE", "/api/v1/namespaces")):
        reply = api.call(method, path, {})
        assert (reply.code, reply.body["reason"]) == (405, "MethodNotAllowed"), f"{method} {path}"


def test_health(api: Api) -> None:
    assert api.get("/readyz").text == "ok"
    assert api.get("/livez").text == "ok"


def test_the_user_may_ask_what_it_may_do(api: Api) -> None:
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    asked = {**kind, "spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    reply = api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    assert reply.code == 201
    assert reply.body["status"]["allowed"] is True
