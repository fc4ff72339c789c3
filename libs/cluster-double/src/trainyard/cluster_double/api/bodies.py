"""From a request's body to an object of the resource: decoded, checked for its kind, cleaned of what is unknown."""

from __future__ import annotations

from typing import Any

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import WriteOptions
from trainyard.cluster_double.core.errors import ApiError, bad_request
from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.core.schema.decode import Decoder, WrongType


def read(cluster: Cluster, resource: Resource, body: Any, options: WriteOptions) -> Json:
    """The object that a body holds; raises ApiError (400). Unknown fields become warnings, or a fault when strict."""
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")
    _check_kind(resource, body)
    obj = clean(cluster, resource, body, options)
    return {"kind": resource.kind, "apiVersion": resource.api_version, **_without_kind(obj)}


def clean(cluster: Cluster, resource: Resource, body: Json, options: WriteOptions) -> Json:
    decoder = Decoder(typed=not resource.custom)
    try:
        obj: Json = decoder.clean(body, cluster.shape(resource))
    except WrongType as fault:
        raise unhandled(resource, str(fault)) from None
    if decoder.unknown and options.validation != "Ignore":
        faults = [f'unknown field "{path}"' for path in decoder.unknown]
        if options.validation == "Strict":
            raise unhandled(resource, f"strict decoding error: {', '.join(faults)}")
        options.warnings.extend(faults)
    if resource.custom and "metadata" in obj:
        obj["metadata"] = _metadata(obj["metadata"])
    return obj


def unhandled(resource: Resource, why: str) -> ApiError:
    kind = resource.kind
    return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')


def _check_kind(resource: Resource, body: Json) -> None:
    kind, version = body.get("kind"), body.get("apiVersion")
    if resource.custom and not kind:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object 'Kind' is missing"
        )
    if kind and kind != resource.kind:
        group, _, its_version = str(version or resource.api_version).rpartition("/")
        raise bad_request(
            f'{kind} in version "{its_version or group}" cannot be handled as a {resource.kind}: '
            f"converting ({its_version}.{kind}) to ({resource.group or 'core'}.{resource.kind}): unknown conversion"
        )
    if version and version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )


def _metadata(metadata: Json) -> Json:
    """Metadata is typed in custom objects too: nulls and empty maps are not kept."""
    return {name: value for name, value in metadata.items() if value not in (None, {}, [])}


def _without_kind(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}
