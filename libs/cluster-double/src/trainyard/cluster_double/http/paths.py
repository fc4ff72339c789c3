"""What a URL of the Kubernetes API names: a resource, perhaps in a namespace, perhaps one object, perhaps a part of it."""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.cluster_double.core.resources import Registry, Resource


@dataclass(frozen=True, slots=True)
class Target:
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class UnknownGroup(Exception):
    """No such group and version: the server answers in plain text."""


class UnknownResource(Exception):
    """The group is there, the resource is not."""


def parse(path: str, registry: Registry) -> Target | None:
    """None for what is no resource (discovery, version, health). Raises UnknownGroup and UnknownResource."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if not registry.of_group(group, version):
        raise UnknownGroup(path)
    return _target(group, version, rest, registry)


def _target(group: str, version: str, rest: list[str], registry: Registry) -> Target:
    namespace = ""
    # `namespaces/x/finalize` and `namespaces/x/status` are parts of the namespace, not collections in it.
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in {"finalize", "status"}):
        namespace, rest = rest[1], rest[2:]
    resource = registry.find(group, version, rest[0])
    if resource is None or (namespace and not resource.namespaced) or len(rest) > 3:
        raise UnknownResource("/".join(rest))
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in _subresources(resource):
        raise UnknownResource("/".join(rest))
    return Target(resource, namespace, name, subresource)


def _subresources(resource: Resource) -> tuple[str, ...]:
    return (*resource.subresources, "status") if resource.status else resource.subresources
