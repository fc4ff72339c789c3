"""The part of the server's OpenAPI documents that kubectl asks for before it writes: which paths check unknown fields.

No schemas: kubectl then merges built-in kinds by what it was compiled with, and `kubectl explain` finds nothing.
"""

from __future__ import annotations

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.resources import Registry, Resource

ROOT = "/openapi/v3"
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string"}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def document(registry: Registry, path: str) -> Json | None:
    """What lies at a path below /openapi/v3; None for nothing."""
    if path == ROOT:
        return {"paths": {place: {"serverRelativeURL": f"{ROOT}/{place}"} for place in _places(registry)}}
    place = path.removeprefix(f"{ROOT}/")
    found = _places(registry).get(place)
    if found is None:
        return None
    paths = dict(_path(place, resource) for resource in registry.of_group(*found))
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.2+double"}, "paths": paths}


def _places(registry: Registry) -> dict[str, tuple[str, str]]:
    return {
        f"apis/{group}/{version}" if group else f"api/{version}": (group, version)
        for group, versions in registry.groups().items()
        for version in versions
    }


def _path(place: str, resource: Resource) -> tuple[str, Json]:
    where = "namespaces/{namespace}/" if resource.namespaced else ""
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    operation = {"parameters": _PARAMETERS, "x-kubernetes-group-version-kind": kind, "responses": {}}
    return f"/{place}/{where}{resource.plural}/{{name}}", {"patch": operation}
