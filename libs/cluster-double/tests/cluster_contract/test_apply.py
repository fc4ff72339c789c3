"""Server-side apply: who owns what, and what happens when two want different things."""

from __future__ import annotations

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.testing.api import APPLY, Api, Reply
from trainyard.cluster_double.testing.manifests import a_config


def apply(api: Api, path: str, body: Json, who: str, **query: object) -> Reply:
    return api.patch(path, body, APPLY, fieldManager=who, **query)


def owned(obj: Json) -> dict[str, Json]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def test_it_makes_what_is_not_there(api: Api, configs: str) -> None:
    reply = apply(api, f"{configs}/a", a_config("a", {"x": "1"}), "one")
    assert reply.code == 201
    assert owned(reply.body) == {"one": {"f:data": {"f:x": {}}}}
    entry = reply.body["metadata"]["managedFields"][0]
    assert (entry["operation"], entry["apiVersion"], entry["fieldsType"]) == ("Apply", "v1", "FieldsV1")
    assert apply(api, f"{configs}/a", a_config("a", {"x": "1"}), "one").code == 200


def test_it_needs_a_manager(api: Api, configs: str) -> None:
    reply = api.patch(f"{configs}/a", a_config("a"), APPLY)
    assert (reply.code, reply.causes[0]["field"]) == (422, "fieldManager")


def test_contradiction_is_a_conflict(api: Api, configs: str) -> None:
    apply(api, f"{configs}/a", a_config("a", {"x": "1", "y": "1"}), "one")
    reply = apply(api, f"{configs}/a", a_config("a", {"x": "2"}), "two")
    assert (reply.code, reply.body["reason"]) == (409, "Conflict")
    assert reply.body["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    assert reply.causes == [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}]
    both = apply(api, f"{configs}/a", a_config("a", {"x": "2", "y": "2"}), "two")
    assert [cause["field"] for cause in both.causes] == [".data.x", ".data.y"]


def test_force_takes_the_field(api: Api, configs: str) -> None:
    apply(api, f"{configs}/a", a_config("a", {"x": "1", "y": "1"}), "one")
    taken = apply(api, f"{configs}/a", a_config("a", {"x": "2"}), "two", force="true").body
    assert taken["data"] == {"x": "2", "y": "1"}
    assert owned(taken) == {"one": {"f:data": {"f:y": {}}}, "two": {"f:data": {"f:x": {}}}}


def test_agreement_is_shared(api: Api, configs: str) -> None:
    apply(api, f"{configs}/a", a_config("a", {"x": "1"}), "one")
    both = apply(api, f"{configs}/a", a_config("a", {"x": "1"}), "two")
    assert both.code == 200
    assert set(owned(both.body)) == {"one", "two"}
    left = apply(api, f"{configs}/a", a_config("a"), "one").body
    assert left["data"] == {"x": "1"}, "the other still wants it"


def test_what_is_no_longer_said_goes(api: Api, configs: str) -> None:
    apply(api, f"{configs}/a", a_config("a", {"x": "1", "y": "2"}, labels={"on": "yes"}), "one")
    apply(api, f"{configs}/a", a_config("a", {"z": "3"}), "two")
    left = apply(api, f"{configs}/a", a_config("a", {"y": "2"}), "one").body
    assert left["data"] == {"y": "2", "z": "3"}
    assert "labels" not in left["metadata"]


def test_a_plain_write_takes_fields_silently(api: Api, configs: str) -> None:
    apply(api, f"{configs}/a", a_config("a", {"x": "1", "y": "1"}), "one")
    changed = api.patch(f"{configs}/a", {"data": {"x": "2"}}).body
    assert owned(changed)["contract"]["f:data"] == {"f:x": {}}
    assert owned(changed)["one"] == {"f:data": {"f:y": {}}}
    reply = apply(api, f"{configs}/a", a_config("a", {"x": "1", "y": "1"}), "one")
    assert reply.causes[0]["message"] == 'conflict with "contract" using v1'


def test_items_of_keyed_lists_have_their_own_owners(api: Api, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/services/a"
    head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}

    def ports(*numbers: int) -> Json:
        listed = [{"name": f"p{number}", "port": number, "protocol": "TCP"} for number in numbers]
        return {**head, "spec": {"clusterIP": "None", "ports": listed}}

    apply(api, path, ports(80, 81), "one")
    apply(api, path, ports(90), "two", force="true")
    left = apply(api, path, ports(81), "one").body
    assert sorted(port["port"] for port in left["spec"]["ports"]) == [81, 90]
    fields = owned(left)["two"]["f:spec"]["f:ports"]
    assert list(fields) == ['k:{"port":90,"protocol":"TCP"}']


def test_fields_that_are_not_there(api: Api, configs: str) -> None:
    reply = apply(api, f"{configs}/a", {**a_config("a"), "nonsense": {}}, "one")
    assert reply.code == 500
    assert "nonsense: field not declared in schema" in reply.body["message"]


def test_the_body_says_what_it_is(api: Api, configs: str) -> None:
    assert apply(api, f"{configs}/a", {"data": {"x": "1"}}, "one").code == 400


def test_the_status_is_applied_apart(api: Api, jobs: str) -> None:
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x:1"}]}}
    apply(api, f"{jobs}/a", {**head, "spec": {"suspend": True, "template": template}}, "one")
    condition = {
        "type": "Waiting",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    reply = apply(api, f"{jobs}/a/status", {**head, "status": {"conditions": [condition]}}, "two", force="true")
    assert reply.code == 200, reply.text
    entry = next(entry for entry in reply.body["metadata"]["managedFields"] if entry["manager"] == "two")
    assert entry["subresource"] == "status"
    assert reply.body["status"]["conditions"][0]["type"] == "Waiting"
