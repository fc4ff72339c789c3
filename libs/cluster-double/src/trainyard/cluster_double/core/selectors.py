"""Label and field selectors, parsed once into predicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trainyard.cluster_double.core.objects import Json, meta, spec_of, status_of
from trainyard.cluster_double.core.resources import Resource

_SET = re.compile(r"^(?P<key>[^\s=!,()]+)\s+(?P<verb>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^\s=!,()]+)\s*(?P<verb>==|=|!=)\s*(?P<value>[^\s=!,()]*)$")
_EXISTS = re.compile(r"^(?P<no>!?)\s*(?P<key>[^\s=!,()]+)$")
_PART = re.compile(r",(?![^(]*\))")
_NAME = re.compile(r"^([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")


class BadSelector(ValueError):
    """The words say what could not be read."""


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    verb: str
    """in, notin, exists, absent"""
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.verb == "in":
            return labels.get(self.key) in self.values
        if self.verb == "notin":
            return labels.get(self.key) not in self.values
        return (self.key in labels) == (self.verb == "exists")


@dataclass(frozen=True, slots=True)
class LabelSelector:
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(one.matches(labels) for one in self.requirements)

    def exact(self) -> tuple[str, str] | None:
        """One label with one value that everything selected must have, if there is such; an index answers it."""
        for one in self.requirements:
            if one.verb == "in" and len(one.values) == 1:
                return one.key, next(iter(one.values))
        return None


def parse_labels(text: str) -> LabelSelector:
    """`a=b,c!=d,e in (f,g),h notin (i),j,!k`. Raises BadSelector."""
    parts = [part.strip() for part in _PART.split(text)] if text.strip() else []
    return LabelSelector(tuple(_requirement(part, text) for part in parts))


def _requirement(part: str, whole: str) -> Requirement:
    if found := _SET.match(part):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _checked(Requirement(found["key"], found["verb"], values), whole)
    if found := _EQUAL.match(part):
        verb = "notin" if found["verb"] == "!=" else "in"
        return _checked(Requirement(found["key"], verb, frozenset({found["value"]})), whole)
    if found := _EXISTS.match(part):
        return _checked(Requirement(found["key"], "absent" if found["no"] else "exists"), whole)
    raise BadSelector(f"unable to parse requirement: found '{part}', in selector {whole!r}")


def _checked(one: Requirement, whole: str) -> Requirement:
    if not _NAME.match(one.key):
        raise BadSelector(f'unable to parse requirement: <nil>: Invalid value: "{one.key}": in selector {whole!r}')
    return one


def from_object(selector: Json | None) -> LabelSelector:
    """A metav1.LabelSelector: matchLabels and matchExpressions."""
    if selector is None:
        return LabelSelector((Requirement("", "exists"),))
    verbs = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    found = [Requirement(key, "in", frozenset({value})) for key, value in (selector.get("matchLabels") or {}).items()]
    found += [
        Requirement(one["key"], verbs[one["operator"]], frozenset(one.get("values") or ()))
        for one in selector.get("matchExpressions") or ()
    ]
    return LabelSelector(tuple(found))


FIELDS: dict[str, dict[str, Callable[[Json], object]]] = {
    "pods": {
        "spec.nodeName": lambda pod: spec_of(pod).get("nodeName"),
        "spec.restartPolicy": lambda pod: spec_of(pod).get("restartPolicy"),
        "spec.schedulerName": lambda pod: spec_of(pod).get("schedulerName"),
        "spec.serviceAccountName": lambda pod: spec_of(pod).get("serviceAccountName"),
        "spec.hostNetwork": lambda pod: str(bool(spec_of(pod).get("hostNetwork"))).lower(),
        "status.phase": lambda pod: status_of(pod).get("phase"),
        "status.podIP": lambda pod: status_of(pod).get("podIP"),
        "status.nominatedNodeName": lambda pod: status_of(pod).get("nominatedNodeName"),
    },
    "events": {
        **{
            f"involvedObject.{name}": lambda event, name=name: (event.get("involvedObject") or {}).get(name)  # type: ignore[misc]
            for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        },
        "reason": lambda event: event.get("reason"),
        "reportingComponent": lambda event: event.get("reportingComponent"),
        "source": lambda event: (event.get("source") or {}).get("component"),
        "type": lambda event: event.get("type"),
    },
    "jobs": {"status.successful": lambda job: status_of(job).get("succeeded", 0)},
    "namespaces": {"status.phase": lambda namespace: status_of(namespace).get("phase")},
    "nodes": {"spec.unschedulable": lambda node: str(bool(spec_of(node).get("unschedulable"))).lower()},
    "secrets": {"type": lambda secret: secret.get("type")},
}


@dataclass(frozen=True, slots=True)
class FieldSelector:
    terms: tuple[tuple[Callable[[Json], object], str, bool], ...] = ()
    """(how to read the field, value, whether it must be equal)"""

    def matches(self, obj: Json) -> bool:
        return all((_text(read(obj)) == value) == equal for read, value, equal in self.terms)


def parse_fields(text: str, resource: Resource) -> FieldSelector:
    """`metadata.name=x,status.phase!=Failed`. Raises BadSelector."""
    terms = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        name, equal, value = _term(part)
        read = _reader(name, resource)
        terms.append((read, value, equal))
    return FieldSelector(tuple(terms))


def _term(part: str) -> tuple[str, bool, str]:
    for sign, equal in (("!=", False), ("==", True), ("=", True)):
        name, found, value = part.partition(sign)
        if found:
            return name.strip(), equal, value.strip()
    raise BadSelector(f"invalid selector: '{part}'; can't understand '{part}'")


def _reader(name: str, resource: Resource) -> Callable[[Json], object]:
    if name == "metadata.name" or (name == "metadata.namespace" and resource.namespaced):
        field = name.removeprefix("metadata.")
        return lambda obj: meta(obj).get(field)
    found = FIELDS.get(resource.plural, {}).get(name) if not resource.custom else None
    if found is None:
        if resource.custom or resource.plural in FIELDS:
            raise BadSelector(f"field label not supported: {name}")
        known = '"metadata.name", "metadata.namespace"'
        raise BadSelector(f'"{name}" is not a known field selector: only {known}')
    return found


def _text(value: object) -> str:
    return "" if value is None else str(value)
