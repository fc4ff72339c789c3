"""What the API's verbs do with one request: from a target, a query and a body to a document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from trainyard.cluster_double.api import create, delete, patch, pods, read, update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import ListOptions, delete_options, list_options, write_options
from trainyard.cluster_double.core import tables
from trainyard.cluster_double.core.crd import definitions
from trainyard.cluster_double.core.errors import ApiError, bad_request, method_not_allowed, unsupported_media
from trainyard.cluster_double.core.objects import Json, meta, name_of, namespace_of, uid_of
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.http.paths import Target

_MEDIA = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request, without HTTP's own."""

    method: str
    target: Target
    query: Mapping[str, str]
    body: bytes
    media: str
    accept: str
    manager: str


@dataclass(slots=True)
class Answer:
    document: Json
    code: int = 200
    warnings: list[str] = field(default_factory=list)


def answer(cluster: Cluster, call: Call) -> Answer:
    """Raises ApiError."""
    target = call.target
    if target.subresource and target.subresource not in {"status", "finalize"}:
        return _part(cluster, call)
    verb = _OBJECT.get(call.method) if target.name else _COLLECTION.get(call.method)
    if verb is None or (not target.name and target.resource.plural == "namespaces" and call.method == "DELETE"):
        raise method_not_allowed()
    if target.resource.namespaced and not target.namespace and (target.name or call.method == "POST"):
        raise method_not_allowed()
    return verb(cluster, call)


def _part(cluster: Cluster, call: Call) -> Answer:
    if call.method != "POST":
        raise method_not_allowed()
    act = {"binding": pods.bind, "eviction": pods.evict}.get(call.target.subresource)
    if act is None:
        raise method_not_allowed()
    return Answer(act(cluster, call.target.namespace, call.target.name, _body(call)), 201)


def _create(cluster: Cluster, call: Call) -> Answer:
    target, options = call.target, write_options(call.query, call.manager)
    if target.resource.plural == "bindings":
        body = _body(call)
        return Answer(pods.bind(cluster, target.namespace, name_of(body), body), 201)
    obj = create.create(cluster, target.resource, target.namespace, _body(call), options)
    return Answer(_versioned(target.resource, obj), 201, options.warnings)


def _get(cluster: Cluster, call: Call) -> Answer:
    target = call.target
    obj = _versioned(target.resource, update.require(cluster, target.resource, target.namespace, target.name))
    version = call.query.get("resourceVersion", "")
    if version and read.version_number(version) > cluster.store.revision:
        raise read.too_large(cluster, int(version))
    if wants_table(call.accept):
        return Answer(as_table(cluster, call, [obj], {"resourceVersion": meta(obj)["resourceVersion"]}))
    return Answer(tables.partial(obj) if "as=PartialObjectMetadata" in call.accept else obj)


def _list(cluster: Cluster, call: Call) -> Answer:
    target, resource = call.target, call.target.resource
    page = read.read_list(cluster, resource, target.namespace, list_options(call.query))
    metadata: Json = {"resourceVersion": str(page.revision)}
    if page.resume:
        metadata["continue"] = page.resume
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
    if wants_table(call.accept):
        return Answer(as_table(cluster, call, page.items, metadata))
    if "as=PartialObjectMetadataList" in call.accept:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return Answer({**head, "metadata": metadata, "items": [tables.partial(obj) for obj in page.items]})
    items = [_item(resource, obj) for obj in page.items]
    head = {"kind": resource.list_kind, "apiVersion": resource.api_version}
    return Answer({**head, "metadata": metadata, "items": items})


def _replace(cluster: Cluster, call: Call) -> Answer:
    target, options = call.target, write_options(call.query, call.manager)
    options.subresource = target.subresource
    obj = update.replace(cluster, target.resource, target.namespace, target.name, _body(call), options)
    return Answer(_versioned(target.resource, obj), 200, options.warnings)


def _patch(cluster: Cluster, call: Call) -> Answer:
    target = call.target
    # An apply is nobody's by default: it must say whose it is.
    options = write_options(call.query, "" if call.media == patch.APPLY else call.manager)
    options.subresource = target.subresource
    obj, new = patch.patch(cluster, target.resource, (target.namespace, target.name), call.media, call.body, options)
    return Answer(_versioned(target.resource, obj), 201 if new else 200, options.warnings)


def _delete(cluster: Cluster, call: Call) -> Answer:
    target, resource = call.target, call.target.resource
    options = delete_options(call.query, _body(call, optional=True))
    warnings = [_ORPHANS] if resource.orphans and not options.policy else []
    obj, gone = delete.delete(cluster, resource, target.namespace, target.name, options)
    if not gone or resource.returns_deleted:
        return Answer(_versioned(resource, obj), 200, warnings)
    details: Json = {"name": target.name, **({"group": resource.group} if resource.group else {})}
    details |= {"kind": resource.plural, "uid": uid_of(obj)}
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return Answer({**head, "details": details}, 200, warnings)


def _delete_all(cluster: Cluster, call: Call) -> Answer:
    target, resource = call.target, call.target.resource
    listed = list_options(call.query)
    options = delete_options(call.query, _body(call, optional=True))
    page = read.read_list(cluster, resource, target.namespace, ListOptions(labels=listed.labels, fields=listed.fields))
    for obj in page.items:
        delete.delete(cluster, resource, namespace_of(obj), name_of(obj), options)
    head = {"kind": resource.list_kind, "apiVersion": resource.api_version}
    metadata = {"resourceVersion": str(cluster.store.revision)}
    return Answer({**head, "metadata": metadata, "items": [_item(resource, obj) for obj in page.items]})


_OBJECT = {"GET": _get, "PUT": _replace, "PATCH": _patch, "DELETE": _delete}
_COLLECTION = {"GET": _list, "POST": _create, "DELETE": _delete_all}


def wants_table(accept: str) -> bool:
    return "as=Table" in accept


def as_table(cluster: Cluster, call: Call, items: list[Json], metadata: Json) -> Json:
    resource = call.target.resource
    columns: list[Json] = []
    if resource.custom:
        definition = cluster.definitions[resource.group, resource.plural]
        columns = definitions.version_of(definition, resource.version).get("additionalPrinterColumns") or []
    include = call.query.get("includeObject") or "Metadata"
    return tables.table(resource, items, metadata, cluster.clock.now(), columns, include)


def review(cluster: Cluster, body: bytes, media: str) -> Json:
    """SelfSubjectAccessReview, in whatever format they ask: everybody may do everything but what the settings deny."""
    asked = json.loads(body) if media == "application/json" else {}
    what = (asked.get("spec") or {}).get("resourceAttributes") or {}
    resource = "/".join(part for part in (what.get("resource", ""), what.get("subresource", "")) if part)
    denied = (what.get("group", ""), resource, what.get("verb", "")) in cluster.settings.denied
    return {
        **asked,
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "status": {"allowed": not denied},
    }


def _versioned(resource: Resource, obj: Json) -> Json:
    return obj if obj["apiVersion"] == resource.api_version else {**obj, "apiVersion": resource.api_version}


def _item(resource: Resource, obj: Json) -> Json:
    """Items of built-in lists do not repeat their kind."""
    if resource.custom:
        return _versioned(resource, obj)
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}


def _body(call: Call, *, optional: bool = False) -> Any:
    if not call.body:
        if optional:
            return {}
        raise bad_request(f"the object provided is unrecognized (must be of type {call.target.resource.kind}): EOF")
    media = call.media or "application/json"
    if media not in {"application/json", "application/yaml"}:
        if optional:
            return {}
        raise unsupported_media(_MEDIA)
    try:
        return json.loads(call.body) if media == "application/json" else yaml.safe_load(call.body)
    except (ValueError, yaml.YAMLError) as fault:
        kind = call.target.resource.kind
        said = f"couldn't get version/kind; json parse error: {fault}"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {said}") from None


def unknown() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})
