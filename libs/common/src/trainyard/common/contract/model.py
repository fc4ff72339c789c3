"""The two kinds of documents on the wire.

A `Spec` comes from a person: frozen, and an unknown field is an error, because it is nearly always a typing mistake.
A `Fact` comes from a service: frozen as well, but unknown fields are passed over, so that a reader of last year still
reads what a writer of next year adds (`Fact.parse` reads the specs inside of it just as tolerantly).
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, StringConstraints, WithJsonSchema

from trainyard.common.contract import quantities
from trainyard.common.contract.sources import SOURCE


STORED = "stored"
"""The validation context of what comes from the log: what was accepted once is read for ever, however the rules of
acceptance have changed since."""


class Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False, use_attribute_docstrings=True)


class Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    @classmethod
    def parse(cls, data: bytes | str) -> Self:
        return cls.model_validate_json(data, extra="ignore", context=STORED)

    def dump(self) -> bytes:
        """Compact JSON without the fields that were never set; what goes on the wire."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True)


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL byte cannot be passed to a process")
    return text


DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
IMPORT_PATH = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"
RESOURCE = r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$"
TENSOR_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}$"

DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
LABEL_VALUE = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
ABSOLUTE = r"^/[^:]*$"

PATTERNS = {
    SOURCE: "sha256: and 64 hexadecimal digits, or `image`",
    DNS_LABEL: "lower-case letters, digits and '-', with a letter or digit at both ends, at most 40",
    IMPORT_PATH: "module:factory, such as model:build",
    RESOURCE: "a resource name of Kubernetes, such as nvidia.com/gpu",
    DNS_SUBDOMAIN: "a name of a Kubernetes object: lower-case letters, digits, '-' and '.'",
    LABEL_KEY: "a label's name, such as example.com/team",
    LABEL_VALUE: "a label's value: letters, digits, '-', '_' and '.', at most 63",
    ABSOLUTE: "an absolute path without ':'",
    TENSOR_NAME: "letters, digits, '_', '.', ':', '/' and '-', beginning with one of the first three",
}
"""What each pattern asks, in words."""

DnsLabel = Annotated[str, StringConstraints(pattern=DNS_LABEL, min_length=1, max_length=40)]
"""A name that Kubernetes takes with our suffixes on it: RFC 1123 label, at most 40 characters."""

Text = Annotated[str, AfterValidator(_no_nul)]

Duration = Annotated[
    float,
    BeforeValidator(quantities.seconds),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": quantities.DURATION_PATTERN}]}
    ),
]
"""Seconds; written as a number or as `90s`, `15m`, `2h`, `7d`."""

Bytes = Annotated[
    int,
    BeforeValidator(quantities.size),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": quantities.SIZE_PATTERN}]}
    ),
]
"""Bytes; written as a number or as `512Mi`, `2Gi`, `1G` (Kubernetes quantities)."""

Json = dict[str, Any]
