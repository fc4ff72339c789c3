"""The documents by which clients learn what is served: version, groups, resources, and all of it in one (aggregated)."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.cluster_double.core import openapi
from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.resources import VERBS, Registry, Resource

VERSION: Json = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2+double",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
# (verbs, kind, group/version of the kind) of what hangs below a resource
_PARTS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "status": (("get", "patch", "update"), "", ""),
    "log": (("get",), "Pod", ""),
    "binding": (("create",), "Binding", ""),
    "eviction": (("create",), "Eviction", "policy/v1"),
    "finalize": (("update",), "Namespace", ""),
}


def document(registry: Registry, path: str, accept: str, host: str) -> Json | None:
    """What lies at a path of the API that is no resource; None for nothing."""
    parts = path.strip("/").split("/")
    if path == "/version":
        return VERSION
    if path.startswith(openapi.ROOT):
        return openapi.document(registry, path)
    if path in {"/api", "/apis"}:
        if "as=APIGroupDiscoveryList" in accept:
            return aggregated(registry, core=path == "/api")
        return api_versions(host) if path == "/api" else group_list(registry)
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in registry.groups():
        return {"kind": "APIGroup", "apiVersion": "v1", **group_document(registry, parts[1])}
    named = {("api", 2): ("", parts[-1]), ("apis", 3): (parts[-2] if len(parts) > 1 else "", parts[-1])}
    found = named.get((parts[0], len(parts)))
    return resource_list(registry, *found) if found is not None else None


def api_versions(address: str) -> Json:
    where = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": where}


def group_list(registry: Registry) -> Json:
    groups = [group_document(registry, name) for name in sorted(registry.groups()) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group_document(registry: Registry, name: str) -> Json:
    """Raises KeyError."""
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in registry.groups()[name]]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(registry: Registry, group: str, version: str) -> Json | None:
    resources = registry.of_group(group, version)
    if not resources:
        return None
    entries = [entry for resource in resources for entry in _entries(resource)]
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": entries}


def _verbs(resource: Resource) -> list[str]:
    if resource.plural == "bindings":
        return ["create"]
    return [verb for verb in VERBS if not (resource.plural == "namespaces" and verb == "deletecollection")]


def _parts(resource: Resource) -> list[str]:
    return sorted([*resource.subresources, *(["status"] if resource.status else [])])


def _entries(resource: Resource) -> Iterator[Json]:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    yield entry
    for part in _parts(resource):
        verbs, kind, group_version = _PARTS[part]
        found: Json = {
            "name": f"{resource.plural}/{part}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind or resource.kind,
            "verbs": list(verbs),
        }
        if group_version:
            found["group"], found["version"] = group_version.split("/")
        yield found


def aggregated(registry: Registry, *, core: bool) -> Json:
    """APIGroupDiscoveryList of the core group, or of all the others."""
    names = [name for name in sorted(registry.groups()) if (name == "") is core]
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [_version(registry, name, version) for version in registry.groups()[name]],
        }
        for name in names
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _version(registry: Registry, group: str, version: str) -> Json:
    resources = [_aggregated(resource) for resource in registry.of_group(group, version)]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _aggregated(resource: Resource) -> Json:
    def kind(name: str, group_version: str = "") -> Json:
        group, _, version = group_version.rpartition("/")
        return {"group": group, "version": version, "kind": name}

    entry: Json = {
        "resource": resource.plural,
        "responseKind": kind(resource.kind, f"{resource.group}/{resource.version}"),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    parts = [
        {
            "subresource": part,
            "responseKind": kind(_PARTS[part][1] or resource.kind, _PARTS[part][2]),
            "verbs": list(_PARTS[part][0]),
        }
        for part in _parts(resource)
    ]
    return {**entry, "subresources": parts} if parts else entry
