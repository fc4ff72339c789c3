"""Custom kinds: served at once, kept to their schema."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.testing.api import APPLY, STRATEGIC, TABLE, Api, eventually
from trainyard.cluster_double.testing.manifests import a_definition

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["fast", "exact"], "default": "fast"},
                "names": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
                "ranks": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "at": {"type": "string"}},
                    },
                },
            },
            "x-kubernetes-validations": [
                {"rule": "self.size < 100", "message": "too large"},
                {"rule": "self.mode == oldSelf.mode", "message": "mode is immutable"},
            ],
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
]


@dataclass(frozen=True)
class Kind:
    group: str
    path: str

    def of(self, name: str, **spec: object) -> Json:
        return {"apiVersion": f"{self.group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def group(api: Api) -> Iterator[str]:
    name = f"c{uuid.uuid4().hex[:8]}.example.com"
    api.made(DEFINITIONS, a_definition(name, SCHEMA, subresources={"status": {}}, additionalPrinterColumns=COLUMNS))
    eventually(lambda: api.get(f"/apis/{name}/v1/widgets").code == 200)
    yield name
    api.delete(f"{DEFINITIONS}/widgets.{name}")


@pytest.fixture
def kind(group: str, ns: str) -> Kind:
    return Kind(group, f"/apis/{group}/v1/namespaces/{ns}/widgets")


def test_a_definition_is_accepted_and_served(api: Api, group: str) -> None:
    found = api.get(f"{DEFINITIONS}/widgets.{group}").body
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert found["spec"]["conversion"] == {"strategy": "None"}
    resources = {one["name"]: one for one in api.get(f"/apis/{group}/v1").body["resources"]}
    assert resources["widgets"]["shortNames"] == ["wd"]
    assert set(resources["widgets/status"]["verbs"]) == {"get", "patch", "update"}


def test_a_definition_must_be_sound(api: Api) -> None:
    wrong = a_definition("other.example.com", SCHEMA)
    wrong["metadata"]["name"] = "widgets.example.com"
    assert api.post(DEFINITIONS, wrong).causes[0]["field"] == "metadata.name"
    bare = a_definition("bare.example.com", {"type": "object", "properties": {"spec": {"description": "no type"}}})
    assert any(cause["field"].endswith("properties[spec].type") for cause in api.post(DEFINITIONS, bare).causes)


def test_defaults_and_pruning(api: Api, kind: Kind) -> None:
    reply = api.post(kind.path, kind.of("a", size=1, junk=1, free={"kept": {"deep": None}}, port="http"))
    assert reply.code == 201, reply.text
    assert reply.body["spec"] == {"size": 1, "mode": "fast", "free": {"kept": {"deep": None}}, "port": "http"}
    assert reply.headers["warning"] == '299 - "unknown field \\"spec.junk\\""'
    assert api.post(kind.path, kind.of("b", size=1, junk=1), fieldValidation="Strict").code == 400


INVALID, IN = "FieldValueInvalid", "in body"


@pytest.mark.parametrize(
    ("spec", "field", "message", "reason"),
    [
        ({}, "spec.size", "Required value", "FieldValueRequired"),
        ({"size": 0}, "spec.size", f"Invalid value: 0: spec.size {IN} should be greater than or equal to 1", INVALID),
        (
            {"size": "x"},
            "spec.size",
            f'Invalid value: "string": spec.size {IN} must be of type integer: "string"',
            "FieldValueTypeInvalid",
        ),
        (
            {"size": 1, "mode": "x"},
            "spec.mode",
            'Unsupported value: "x": supported values: "fast", "exact"',
            "FieldValueNotSupported",
        ),
        (
            {"size": 1, "names": ["a", "B"]},
            "spec.names[1]",
            f"Invalid value: \"B\": spec.names[1] {IN} should match '^[a-z]+$'",
            INVALID,
        ),
    ],
)
def test_faults(api: Api, kind: Kind, spec: Json, field: str, message: str, reason: str) -> None:
    reply = api.post(kind.path, kind.of("a", **spec))
    assert reply.code == 422
    assert {"reason": reason, "message": message, "field": field} in reply.causes


def test_rules_in_cel(api: Api, kind: Kind) -> None:
    large = api.post(kind.path, kind.of("a", size=100))
    assert (large.code, large.causes[0]["field"]) == (422, "spec")
    assert "too large" in large.causes[0]["message"]
    api.made(kind.path, kind.of("a", size=1))
    changed = api.patch(f"{kind.path}/a", {"spec": {"mode": "exact"}})
    assert changed.code == 422
    assert "mode is immutable" in changed.causes[0]["message"]
    assert api.patch(f"{kind.path}/a", {"spec": {"size": 2}}).code == 200


def test_the_kind_must_be_said(api: Api, kind: Kind) -> None:
    assert api.post(kind.path, {"metadata": {"name": "a"}}).code == 400


def test_status_is_apart(api: Api, kind: Kind) -> None:
    made = api.made(kind.path, {**kind.of("a", size=1), "status": {"phase": "Early"}})
    assert "status" not in made
    told = api.patch(f"{kind.path}/a/status", {"status": {"phase": "Running"}, "spec": {"size": 9}}).body
    assert told["status"] == {"phase": "Running"}
    assert (told["spec"]["size"], told["metadata"]["generation"]) == (1, 1)
    plain = api.patch(f"{kind.path}/a", {"status": {"phase": "No"}, "spec": {"size": 2}}).body
    assert plain["status"] == {"phase": "Running"}
    assert plain["metadata"]["generation"] == 2


def test_columns(api: Api, kind: Kind) -> None:
    api.made(kind.path, kind.of("a", size=3))
    api.patch(f"{kind.path}/a/status", {"status": {"phase": "Running"}})
    table = api.get(kind.path, accept=TABLE).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Phase"]
    assert table["rows"][0]["cells"] == ["a", 3, "Running"]


def test_which_patches_a_custom_kind_takes(api: Api, kind: Kind) -> None:
    made = api.made(kind.path, kind.of("a", size=1))
    strategic = api.patch(f"{kind.path}/a", {"spec": {"size": 2}}, STRATEGIC)
    assert (strategic.code, strategic.body["reason"]) == (415, "UnsupportedMediaType")
    without = api.put(f"{kind.path}/a", kind.of("a", size=2))
    assert (without.code, without.causes[0]["field"]) == (422, "metadata.resourceVersion")
    made["spec"]["size"] = 2
    assert api.put(f"{kind.path}/a", made).body["spec"]["size"] == 2


def test_apply_knows_the_keys_of_its_lists(api: Api, kind: Kind) -> None:
    def apply(who: str, *ranks: str) -> Json:
        body = kind.of("a", size=1, ranks=[{"name": rank, "at": who} for rank in ranks])
        reply = api.patch(f"{kind.path}/a", body, APPLY, fieldManager=who)
        assert reply.code in {200, 201}, reply.text
        return reply.body

    assert apply("one", "r0", "r1")["spec"]["mode"] == "fast"
    apply("two", "r2")
    left = apply("one", "r1")
    assert [rank["name"] for rank in left["spec"]["ranks"]] == ["r1", "r2"]


def test_a_definition_takes_its_objects_with_it(api: Api, ns: str) -> None:
    name = f"d{uuid.uuid4().hex[:8]}.example.com"
    api.made(DEFINITIONS, a_definition(name, SCHEMA))
    path = f"/apis/{name}/v1/namespaces/{ns}/widgets"
    eventually(lambda: api.get(path).code == 200)
    body = {"apiVersion": f"{name}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    eventually(lambda: api.post(path, body).code in {201, 409})
    going = api.delete(f"{DEFINITIONS}/widgets.{name}").body
    assert going["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    eventually(lambda: api.get(f"{DEFINITIONS}/widgets.{name}").code == 404)
    eventually(lambda: api.get(path).code == 404)


def test_two_versions_of_one_kind(api: Api, ns: str) -> None:
    name = f"e{uuid.uuid4().hex[:8]}.example.com"
    definition = a_definition(name, SCHEMA)
    older = {**definition["spec"]["versions"][0], "name": "v1beta1", "storage": False}
    definition["spec"]["versions"].append(older)
    api.made(DEFINITIONS, definition)
    new, old = (f"/apis/{name}/{version}/namespaces/{ns}/widgets" for version in ("v1", "v1beta1"))
    try:
        eventually(lambda: api.get(new).code == 200 and api.get(old).code == 200)
        body = {"apiVersion": f"{name}/v1beta1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
        eventually(lambda: api.post(old, body).code in {201, 409})
        assert api.get(f"{new}/a").body["apiVersion"] == f"{name}/v1"
        assert api.get(f"{old}/a").body["apiVersion"] == f"{name}/v1beta1"
        assert api.get(f"{new}/a").version == api.get(f"{old}/a").version
        changed = api.patch(f"{new}/a", {"spec": {"size": 2}}).body
        assert changed["metadata"]["generation"] == 2
        seen = next(api.watch(old, 20, fieldSelector="metadata.name=a"))
        assert (seen[1]["apiVersion"], seen[1]["spec"]["size"]) == (f"{name}/v1beta1", 2)
        group = api.get(f"/apis/{name}").body
        assert group["preferredVersion"]["version"] == "v1"
    finally:
        api.delete(f"{DEFINITIONS}/widgets.{name}")


def test_a_stale_status_is_refused(api: Api, kind: Kind) -> None:
    made = api.made(kind.path, kind.of("a", size=1))
    first = api.put(f"{kind.path}/a/status", {**made, "status": {"phase": "One"}})
    assert first.body["status"] == {"phase": "One"}
    stale = api.put(f"{kind.path}/a/status", {**made, "status": {"phase": "Two"}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    assert api.put(f"{kind.path}/a/status", {**first.body, "status": {"phase": 3}}).code == 422
