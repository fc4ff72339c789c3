"""Custom objects against their schema: defaults, then faults in the API server's words.

`jsonschema` finds the faults; here each becomes the cause that a Kubernetes server gives for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from jsonschema import Draft4Validator, ValidationError

from trainyard.cluster_double.core.errors import Cause, invalid_value, required, shown
from trainyard.cluster_double.core.objects import Json

_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_COMMON = frozenset(
    [
        "allOf",
        "anyOf",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "required",
        "uniqueItems",
    ]
)


def with_defaults(value: Any, schema: Json) -> Any:
    """A copy in which absent fields that have a default have it."""
    if isinstance(value, dict):
        properties: Json = schema.get("properties") or {}
        filled = dict(value)
        for name, member in properties.items():
            if "default" in member and filled.get(name) is None and not (member.get("nullable") and name in filled):
                filled[name] = member["default"]
            elif name in filled and filled[name] is None and not member.get("nullable"):
                del filled[name]
        extra = schema.get("additionalProperties")
        return {
            name: with_defaults(found, properties.get(name) or (extra if isinstance(extra, dict) else {}))
            for name, found in filled.items()
        }
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [with_defaults(entry, schema["items"]) for entry in value]
    return value


def faults(obj: Json, schema: Json) -> Iterator[Cause]:
    found = list(_validator(_Frozen(schema)).iter_errors(obj))
    found.sort(key=lambda error: (_path(error.absolute_path), str(error.validator)))
    for error in found:
        yield from _causes(error)


class _Frozen:
    """A schema as a cache's key: one and the same dict is one key. Stored objects never change in place."""

    def __init__(self, schema: Json) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and other.schema is self.schema


@lru_cache(maxsize=256)
def _validator(frozen: _Frozen) -> Draft4Validator:
    return Draft4Validator(_plain(frozen.schema))


def _plain(schema: Json) -> Json:
    """A Kubernetes schema as JSON schema says it."""
    plain = {name: schema[name] for name in _COMMON if name in schema}
    if schema.get("x-kubernetes-int-or-string"):
        return {**plain, "type": ["integer", "string"]}
    if "type" in schema:
        plain["type"] = [schema["type"], "null"] if schema.get("nullable") else schema["type"]
    if "properties" in schema:
        plain["properties"] = {name: _plain(member) for name, member in schema["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            plain[name] = _plain(schema[name])
    return plain


def _causes(error: ValidationError) -> Iterator[Cause]:
    at, rule, wanted = _path(error.absolute_path), str(error.validator), _wanted(error)
    say = _SAYINGS.get(rule)
    if rule == "required":
        for name in wanted:
            if name not in _instance(error) and f"'{name}'" in error.message:
                yield required(f"{at}.{name}" if at else name)
    elif rule == "type":
        found = _TYPES[type(error.instance)]
        kind = wanted if isinstance(wanted, str) else wanted[0]
        said = f'Invalid value: "{found}": {at} in body must be of type {kind}: "{found}"'
        yield Cause(at, said, "FieldValueTypeInvalid")
    elif rule == "enum":
        names = ", ".join(f'"{name}"' for name in wanted)
        words = f"Unsupported value: {shown(error.instance)}: supported values: {names}"
        yield Cause(at, words, "FieldValueNotSupported")
    elif say is not None:
        yield invalid_value(at, error.instance, f"{at} in body {say(wanted)}")
    else:
        yield invalid_value(at, error.instance, error.message)


def _wanted(error: ValidationError) -> Any:
    """What the broken rule asks for."""
    return error.validator_value


def _instance(error: ValidationError) -> Any:
    return error.instance


_SAYINGS: dict[str, Callable[[Any], str]] = {
    "pattern": lambda limit: f"should match '{limit}'",
    "minimum": lambda limit: f"should be greater than or equal to {limit}",
    "maximum": lambda limit: f"should be less than or equal to {limit}",
    "minLength": lambda limit: f"should be at least {limit} chars long",
    "maxLength": lambda limit: f"should be at most {limit} chars long",
    "minItems": lambda limit: f"should have at least {limit} items",
    "maxItems": lambda limit: f"should have at most {limit} items",
}


def _path(path: Any) -> str:
    words = ""
    for element in path:
        words += f"[{element}]" if isinstance(element, int) else (f".{element}" if words else element)
    return words
