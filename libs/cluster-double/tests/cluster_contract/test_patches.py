"""The three patches that only say what changes: JSON, merge, strategic merge."""

from __future__ import annotations

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.testing.api import JSON_PATCH, MERGE, STRATEGIC, Api
from trainyard.cluster_double.testing.manifests import a_config


def a_deployment(name: str) -> Json:
    containers = [
        {"name": "one", "image": "x:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "two", "image": "y:1", "ports": [{"containerPort": 80}]},
    ]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def deployed(api: Api, ns: str) -> str:
    path = f"/apis/apps/v1/namespaces/{ns}/deployments"
    api.made(path, a_deployment("a"))
    return f"{path}/a"


def containers(obj: Json) -> dict[str, Json]:
    return {one["name"]: one for one in obj["spec"]["template"]["spec"]["containers"]}


def in_template(*entries: Json, **more: object) -> Json:
    return {"spec": {"template": {"spec": {"containers": list(entries), **more}}}}


def test_json_patch(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", {"x": "1", "y": "2"}))
    steps = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "replace", "path": "/data/x", "value": "9"},
        {"op": "remove", "path": "/data/y"},
        {"op": "add", "path": "/metadata/labels", "value": {"on": "yes"}},
    ]
    changed = api.patch(f"{configs}/a", steps, JSON_PATCH).body
    assert changed["data"] == {"x": "9"}
    assert changed["metadata"]["labels"] == {"on": "yes"}


def test_a_json_patch_whose_test_fails_changes_nothing(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", {"x": "1"}))
    steps = [{"op": "replace", "path": "/data/x", "value": "9"}, {"op": "test", "path": "/data/x", "value": "1"}]
    reply = api.patch(f"{configs}/a", steps, JSON_PATCH)
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")
    assert api.patch(f"{configs}/a", [{"op": "remove", "path": "/data/nope"}], JSON_PATCH).code == 422
    assert api.patch(f"{configs}/a", b"nonsense", JSON_PATCH).code == 400
    assert api.get(f"{configs}/a").body["data"] == {"x": "1"}


def test_merge_patch_removes_with_null(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", {"x": "1", "y": "2"}))
    changed = api.patch(f"{configs}/a", {"data": {"x": None, "z": "3"}}, MERGE).body
    assert changed["data"] == {"y": "2", "z": "3"}


def test_merge_patch_replaces_lists(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    changed = api.patch(path, in_template({"name": "two", "image": "y:2"}), MERGE).body
    assert list(containers(changed)) == ["two"]


def test_a_patch_with_a_stale_version_is_refused(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a"))
    api.patch(f"{configs}/a", {"data": {"x": "1"}})
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"x": "2"}}
    assert api.patch(f"{configs}/a", stale).code == 409


def test_a_patch_of_what_is_not_there(api: Api, configs: str) -> None:
    assert api.patch(f"{configs}/a", {"data": {"x": "1"}}).code == 404


def test_a_patch_in_no_known_format(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    reply = api.patch(f"{configs}/a", {"data": {}}, "application/json")
    assert (reply.code, reply.body["reason"]) == (415, "UnsupportedMediaType")


def test_strategic_merge_finds_items_by_their_key(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    changed = containers(api.patch(path, in_template({"name": "two", "image": "y:2"}), STRATEGIC).body)
    assert changed["two"]["image"] == "y:2"
    assert changed["two"]["ports"][0]["containerPort"] == 80
    assert changed["one"]["image"] == "x:1"
    grown = containers(api.patch(path, in_template({"name": "three", "image": "z:1"}), STRATEGIC).body)
    assert set(grown) == {"one", "two", "three"}


def test_strategic_merge_within_items(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    env = [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}]
    changed = containers(api.patch(path, in_template({"name": "one", "env": env}), STRATEGIC).body)
    assert {one["name"]: one["value"] for one in changed["one"]["env"]} == {"A": "1", "B": "9", "C": "3"}


def test_strategic_merge_deletes_and_replaces_when_told(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    less = containers(api.patch(path, in_template({"name": "two", "$patch": "delete"}), STRATEGIC).body)
    assert set(less) == {"one"}
    env = [{"$patch": "replace"}, {"name": "ONLY", "value": "1"}]
    only = containers(api.patch(path, in_template({"name": "one", "env": env}), STRATEGIC).body)
    assert [one["name"] for one in only["one"]["env"]] == ["ONLY"]


def test_strategic_merge_orders_when_told(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    order = {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]}
    changed = api.patch(path, in_template({"name": "one", "image": "x:2"}, **order), STRATEGIC).body
    assert list(containers(changed)) == ["two", "one"]


def test_strategic_merge_adds_to_sets(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    api.patch(path, {"metadata": {"finalizers": ["example.com/a"]}}, MERGE)
    added = api.patch(path, {"metadata": {"finalizers": ["example.com/b"]}}, STRATEGIC).body
    assert sorted(added["metadata"]["finalizers"]) == ["example.com/a", "example.com/b"]
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    assert api.patch(path, gone, STRATEGIC).body["metadata"]["finalizers"] == ["example.com/b"]
    api.patch(path, {"metadata": {"finalizers": None}}, MERGE)


def test_strategic_merge_replaces_lists_without_a_key(api: Api, ns: str) -> None:
    path = deployed(api, ns)
    one, two = ([{"key": key, "operator": "Exists", "effect": "NoSchedule"}] for key in ("a", "b"))
    api.patch(path, {"spec": {"template": {"spec": {"tolerations": one}}}}, STRATEGIC)
    changed = api.patch(path, {"spec": {"template": {"spec": {"tolerations": two}}}}, STRATEGIC).body
    assert changed["spec"]["template"]["spec"]["tolerations"] == two


def test_a_json_patch_into_what_is_not_there(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    inside = [{"op": "add", "path": "/metadata/annotations/example.com~1x", "value": "1"}]
    assert api.patch(f"{configs}/a", inside, JSON_PATCH).code == 422
    whole = [{"op": "add", "path": "/metadata/annotations", "value": {}}, *inside]
    assert api.patch(f"{configs}/a", whole, JSON_PATCH).body["metadata"]["annotations"] == {"example.com/x": "1"}


def test_a_patch_may_be_tried_dry(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a", {"x": "1"}))
    assert api.patch(f"{configs}/a", {"data": {"x": "2"}}, dryRun="All").body["data"] == {"x": "2"}
    assert api.get(f"{configs}/a").version == made["metadata"]["resourceVersion"]


def test_a_patch_may_not_change_who_it_is(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    assert api.patch(f"{configs}/a", {"metadata": {"name": "b"}}).code == 400
    other = api.patch(f"{configs}/a", {"metadata": {"uid": "other"}})
    assert (other.code, other.causes[0]["field"]) == (422, "metadata.uid")
