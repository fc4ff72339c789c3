"""PATCH: the four formats of a patch, each turned into a change of the object."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonpatch
import jsonpointer
import yaml

from trainyard.cluster_double.api import bodies, create, update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import WriteOptions, bad_options
from trainyard.cluster_double.core.errors import (
    ApiError,
    Cause,
    bad_request,
    invalid,
    invalid_value,
    not_found,
    unsupported_media,
)
from trainyard.cluster_double.core.objects import Json, meta, name_of, uid_of, with_meta
from trainyard.cluster_double.core.patches.apply import Conflicts, apply
from trainyard.cluster_double.core.patches.merge import merge
from trainyard.cluster_double.core.patches.strategic import BadPatch, strategic_merge
from trainyard.cluster_double.core.resources import Resource

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def patch(
    cluster: Cluster, resource: Resource, place: tuple[str, str], media: str, body: bytes, options: WriteOptions
) -> tuple[Json, bool]:
    """(the object, whether it is new). `place` is (namespace, name). Raises ApiError."""
    if media == APPLY:
        return _apply(cluster, resource, place, body, options)
    change = _CHANGES.get(media)
    if change is None:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if media == STRATEGIC and resource.custom:
        raise unsupported_media((JSON_PATCH, MERGE, APPLY))
    document = _document(body)
    old = update.require(cluster, resource, *place)
    new = change(cluster, resource, _open(old), document)
    if not isinstance(new, dict):
        raise bad_request("a patch must leave an object")
    _check_identity(resource, old, new)
    new = bodies.clean(cluster, resource, new, options)
    return update.commit(cluster, resource, old, new, options), False


def _check_identity(resource: Resource, old: Json, new: Json) -> None:
    """A patch may not turn an object into another one."""
    if name_of(new) != name_of(old):
        raise bad_request(
            f"the name of the object ({name_of(new)}) does not match the name on the URL ({name_of(old)})"
        )
    if uid_of(new) != uid_of(old):
        raise invalid(resource, name_of(old), [invalid_value("metadata.uid", uid_of(new), "field is immutable")])


def _open(old: Json) -> Json:
    """What a patch is laid on: without the version, which a patch names only to be refused when it is stale."""
    return with_meta(old, resourceVersion=None)


def _json_patch(_: Cluster, __: Resource, old: Json, document: Any) -> Any:
    try:
        return jsonpatch.apply_patch(old, document)
    except jsonpatch.InvalidJsonPatch as fault:
        raise bad_request(f"error decoding patch: {fault}") from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
        raise ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {}) from None


def _merge(_: Cluster, __: Resource, old: Json, document: Any) -> Any:
    return merge(old, document)


def _strategic(cluster: Cluster, resource: Resource, old: Json, document: Any) -> Any:
    try:
        return strategic_merge(old, document, cluster.shape(resource))
    except BadPatch as fault:
        raise bad_request(str(fault)) from None


_CHANGES: dict[str, Callable[[Cluster, Resource, Json, Any], Any]] = {
    JSON_PATCH: _json_patch,
    MERGE: _merge,
    STRATEGIC: _strategic,
}


def _apply(
    cluster: Cluster, resource: Resource, place: tuple[str, str], body: bytes, options: WriteOptions
) -> tuple[Json, bool]:
    who = options.manager
    if not who:
        raise bad_options(
            "PatchOptions", Cause("fieldManager", "Required value: is required for apply patch", "FieldValueRequired")
        )
    namespace, name = place
    wanted = _wanted(cluster, resource, namespace, name, body, options)
    live = cluster.store.get(resource.storage, namespace, name)
    now = cluster.clock.now()
    shape = cluster.shape(resource)
    try:
        merged = apply(live, wanted, shape, who, force=options.force, now=now, sub=options.subresource)
    except Conflicts as clash:
        raise ApiError(409, "Conflict", str(clash), {"causes": clash.causes()}) from None
    if live is not None:
        return update.commit(cluster, resource, live, merged, options, owned=True), False
    if options.subresource:
        raise not_found(resource, name)
    if uid_of(wanted):
        raise ApiError(
            409,
            "Conflict",
            f"uid mismatch: the provided object specified uid {uid_of(wanted)}, and no existing object was found",
        )
    return create.store_new(cluster, resource, merged, options, fields=merged), True


def _wanted(
    cluster: Cluster, resource: Resource, namespace: str, name: str, body: bytes, options: WriteOptions
) -> Json:
    document = _yaml(body)
    if document.get("apiVersion") != resource.api_version or document.get("kind") != resource.kind:
        raise bad_request(
            f"apiVersion and kind of the applied object must be {resource.api_version}, Kind={resource.kind}"
        )
    if "managedFields" in meta(document):
        raise bad_request("metadata.managedFields must be nil")
    if name_of(document) not in {"", name}:
        raise bad_request(f"the name of the object ({name_of(document)}) does not match the name on the URL ({name})")
    unknown = WriteOptions(validation=options.validation)
    wanted = bodies.clean(cluster, resource, document, unknown)
    if unknown.warnings:
        field = unknown.warnings[0].split('"')[1]
        version = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        raise ApiError(
            500,
            "",
            f"failed to create typed patch object ({namespace}/{name}; {version}): .{field}: field not declared in schema",
        )
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return with_meta({**head, **wanted}, name=name, namespace=namespace or None)


def _document(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as fault:
        raise bad_request(f"error decoding patch: {fault}") from None


def _yaml(body: bytes) -> Json:
    try:
        found = yaml.safe_load(body)
    except yaml.YAMLError as fault:
        raise bad_request(f"error decoding YAML: {fault}") from None
    if not isinstance(found, dict):
        raise bad_request("error decoding YAML: an object is needed")
    return found
