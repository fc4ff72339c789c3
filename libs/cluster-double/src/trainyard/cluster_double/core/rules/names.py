"""What names, labels and finalizers must look like, in the API server's words."""

from __future__ import annotations

import re

_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_PART = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")

LABEL_FAULT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_FAULT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
PART_FAULT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_FAULT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def label_fault(name: str, limit: int = 63) -> str | None:
    """A DNS label: namespaces, services, containers."""
    if len(name) > limit:
        return too_long(limit)
    return None if _LABEL.match(name) else LABEL_FAULT


def subdomain_fault(name: str) -> str | None:
    """A DNS subdomain: what most objects are called."""
    if len(name) > 253:
        return too_long(253)
    return None if _SUBDOMAIN.match(name) else SUBDOMAIN_FAULT


def path_fault(name: str) -> str | None:
    """RBAC's names: anything that can stand in a path."""
    return "may not contain '/' or '%'" if "/" in name or "%" in name or name in {".", ".."} else None


def qualified_fault(key: str) -> str | None:
    """A label's or annotation's key: `prefix/name` or `name`."""
    prefix, slash, part = key.rpartition("/")
    if slash:
        if not prefix:
            return "prefix part must be non-empty"
        fault = subdomain_fault(prefix)
        if fault:
            return f"prefix part {fault}"
    if not part:
        return f"name part must be non-empty; {PART_FAULT}"
    if len(part) > 63:
        return f"name part {too_long(63)}"
    return None if _PART.match(part) else PART_FAULT


def label_value_fault(value: str) -> str | None:
    if len(value) > 63:
        return too_long(63)
    return None if _VALUE.match(value) else VALUE_FAULT
