"""CustomResourceDefinitions: whether one is sound, and which resources it brings."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.cluster_double.core.errors import Cause, invalid_value, required
from trainyard.cluster_double.core.objects import Json, name_of, spec_of
from trainyard.cluster_double.core.resources import Resource


def with_defaults(definition: Json) -> Json:
    spec = spec_of(definition)
    names: Json = spec.get("names") or {}
    kind = str(names.get("kind", ""))
    names = {"listKind": f"{kind}List", "singular": kind.lower(), **names}
    return {**definition, "spec": {"conversion": {"strategy": "None"}, **spec, "names": names}}


def faults(definition: Json) -> Iterator[Cause]:
    spec = spec_of(definition)
    names: Json = spec.get("names") or {}
    if not spec.get("group"):
        yield required("spec.group")
    if name_of(definition) != f"{names.get('plural')}.{spec.get('group')}":
        yield invalid_value("metadata.name", name_of(definition), 'must be spec.names.plural+"."+spec.group')
    versions: list[Json] = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid_value("spec.versions", versions, "must have exactly one version marked as storage version")
    for index, version in enumerate(versions):
        at = f"spec.versions[{index}].schema.openAPIV3Schema"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not schema:
            yield required(at, "schemas are required")
        elif schema.get("type") != "object":
            yield (
                required(f"{at}.type", "must be object at the root")
                if not schema.get("type")
                else invalid_value(f"{at}.type", schema["type"], "must be object at the root")
            )
        else:
            yield from _structural_faults(schema, at)


def _structural_faults(schema: Json, at: str) -> Iterator[Cause]:
    loose = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not schema.get("type") and not loose:
        yield required(f"{at}.type", "must not be empty for specified object fields")
    for name, member in (schema.get("properties") or {}).items():
        yield from _structural_faults(member, f"{at}.properties[{name}]")
    if isinstance(schema.get("items"), dict):
        yield from _structural_faults(schema["items"], f"{at}.items")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _structural_faults(schema["additionalProperties"], f"{at}.additionalProperties")


def resources_of(definition: Json) -> Iterator[Resource]:
    """One resource for every version that is served."""
    spec = spec_of(definition)
    names: Json = spec["names"]
    for version in spec["versions"]:
        if version.get("served"):
            yield Resource(
                spec["group"],
                version["name"],
                names["plural"],
                names["kind"],
                namespaced=spec.get("scope") == "Namespaced",
                short=tuple(names.get("shortNames") or ()),
                status="status" in (version.get("subresources") or {}),
                categories=tuple(names.get("categories") or ()),
                unconditional_update=False,
                custom=True,
                singular_name=names["singular"],
            )


def version_of(definition: Json, version: str) -> Json:
    """The version's entry. Raises StopIteration for one that is not there."""
    return next(found for found in spec_of(definition)["versions"] if found["name"] == version)


def schema_of(definition: Json, version: str) -> Json:
    found: Json = (version_of(definition, version).get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    return found
