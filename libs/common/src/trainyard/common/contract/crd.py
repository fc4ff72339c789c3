"""The custom resource `TrainingJob`, made from the job file's model.

A structural schema knows less than JSON Schema: no references, no alternatives of different types, no free property names.
Where a job file has a short form beside a long one, the API server takes both unseen; the gateway, which reads the same
model, refuses what is wrong and its words become a condition of the resource. Source: kubernetes.io, "Extend the Kubernetes
API with CustomResourceDefinitions".
"""

from __future__ import annotations

from typing import Any

from trainyard.common.contract.jobs import JobSpec

GROUP = "trainyard.dev"
VERSION = "v1alpha1"
KIND = "TrainingJob"
PLURAL = "trainingjobs"
LONGEST_NAME = 40
MANAGER = "trainyard.dev/launcher"
"""What `spec.managedBy` says of a resource that is ours, as it is where it says nothing."""

Document = dict[str, Any]

_KEPT = (
    *("type", "description", "enum", "pattern", "format", "maxLength", "minLength", "maximum", "minimum"),
    *("maxItems", "minItems", "maxProperties", "minProperties"),
)
_FREE = {"x-kubernetes-preserve-unknown-fields": True}
_NUMBER_OR_TEXT = {"x-kubernetes-int-or-string": True}
_SIZES = frozenset({"replicas", "roles"})
_SHORT = ("replicas", "processes", "resources", "limits")


def document() -> Document:
    """The CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "labels": {"app.kubernetes.io/part-of": "trainyard"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["tj"],
                "categories": ["trainyard"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(),
                    "schema": {"openAPIV3Schema": schema()},
                }
            ],
        },
    }


def schema() -> Document:
    whole = JobSpec.model_json_schema()
    spec = structural(whole, whole.get("$defs", {}))
    del spec["properties"]["name"]  # the resource's own
    spec["properties"]["managedBy"] = {
        "type": "string",
        "maxLength": 63,
        "description": f"The controller that runs it; absent: {MANAGER}. One that names another is left to that one.",
    }
    spec["required"] = [name for name in spec.get("required", ()) if name != "name"]
    short = " || ".join(f"has(self.{name})" for name in _SHORT)
    spec["x-kubernetes-validations"] = [
        {
            "rule": _unchanged(spec["properties"]),
            "message": "a job cannot be changed once it is submitted, but for its replicas: make another one",
        },
        {
            "rule": f"!has(self.roles) || size(self.roles) == 0 || !({short})",
            "message": f"say {', '.join(_SHORT)} inside each of `roles`, not beside them",
        },
    ]
    return {
        "type": "object",
        "description": "A training job of any framework. The fields of `spec` are those of a job file without `name`.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": _status(),
        },
        "x-kubernetes-validations": [
            {
                "rule": f"size(self.metadata.name) <= {LONGEST_NAME} && !self.metadata.name.contains('.')",
                "message": f"the name of a job has no '.' and at most {LONGEST_NAME} characters",
            }
        ],
    }


def _unchanged(properties: Document) -> str:
    """That only the size may change. What a rule cannot look into (fields of several types), and `roles`, whose replicas may,
    the operator looks at; it says in the status what it does not take."""
    fixed = [name for name, node in properties.items() if "type" in node and name not in _SIZES]
    return " && ".join(
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        for name in sorted(fixed)
    )


def structural(node: Document, defs: Document) -> Document:
    """A node of a JSON Schema as one of a structural schema."""
    if "$ref" in node:
        target = defs[node["$ref"].rpartition("/")[2]]
        return structural({**target, **({"description": node["description"]} if "description" in node else {})}, defs)
    if "anyOf" in node:
        return _alternatives(node, defs)
    made = {name: node[name] for name in _KEPT if name in node}
    if "const" in node:
        made |= {"type": node.get("type", "string"), "enum": [node["const"]]}
    for name in ("minimum", "maximum"):
        exclusive = node.get(f"exclusive{name.capitalize()}")
        if exclusive is not None:
            made |= {name: exclusive, f"exclusive{name.capitalize()}": True}
    if "items" in node:
        made["items"] = structural(node["items"], defs)
    elif node.get("type") == "array":
        made["items"] = _FREE
    if "properties" in node:
        made["properties"] = {name: structural(part, defs) for name, part in node["properties"].items()}
        required = [name for name in node.get("required", ()) if name in made["properties"]]
        made |= {"required": required} if required else {}
    values = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), None)
    if isinstance(values, dict):
        made["additionalProperties"] = structural(values, defs)
    return made if "type" in made else {**made, **_FREE}


def _alternatives(node: Document, defs: Document) -> Document:
    options = [option for option in node["anyOf"] if option.get("type") != "null"]
    described = {"description": node["description"]} if "description" in node else {}
    if len(options) == 1:
        return {**structural(options[0], defs), **described}
    types = {option.get("type", "object") for option in options}
    if types <= {"integer", "number", "string"}:
        return {**_NUMBER_OR_TEXT, **described}
    return {**_FREE, **described}


def _status() -> Document:
    text, time = {"type": "string"}, {"type": "string", "format": "date-time"}
    return {
        "type": "object",
        "properties": {
            "jobId": text,
            "state": text,
            "framework": text,
            "attempt": {"type": "integer"},
            "reason": text,
            "message": text,
            "progress": text,
            "metrics": {"type": "object", "additionalProperties": {"type": "number", "nullable": True}},
            "submittedAt": time,
            "startedAt": time,
            "endedAt": time,
            "outputs": text,
            "observedGeneration": {"type": "integer", "format": "int64"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status", "lastTransitionTime", "reason"],
                    "properties": {
                        "type": text,
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                        "reason": text,
                        "message": text,
                        "lastTransitionTime": time,
                        "observedGeneration": {"type": "integer", "format": "int64"},
                    },
                },
            },
        },
    }


def _columns() -> list[Document]:
    return [
        {"name": "State", "type": "string", "jsonPath": ".status.state"},
        {"name": "Framework", "type": "string", "jsonPath": ".status.framework"},
        {"name": "Progress", "type": "string", "jsonPath": ".status.progress"},
        {"name": "Attempt", "type": "integer", "jsonPath": ".status.attempt", "priority": 1},
        {"name": "Job", "type": "string", "jsonPath": ".status.jobId", "priority": 1},
        {"name": "Message", "type": "string", "jsonPath": ".status.message"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
