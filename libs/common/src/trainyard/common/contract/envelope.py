"""CloudEvents 1.0 in the NATS binding: binary mode out, binary and structured mode in.

Source: CloudEvents specification 1.0.2 and its NATS protocol binding (headers are `ce-` + attribute, `content-type` is
datacontenttype; structured mode is the whole event as `application/cloudevents+json`). Trace context travels as the
`traceparent` and `tracestate` attributes of the distributed tracing extension.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainyard.common.errors import InvalidInput

JSON = "application/json"
STRUCTURED = "application/cloudevents+json"
_REQUIRED = ("id", "source", "type")


@dataclass(frozen=True, slots=True)
class Envelope:
    id: str
    source: str
    type: str
    data: bytes
    subject: str | None = None
    time: str | None = None
    """RFC 3339."""
    traceparent: str | None = None
    tracestate: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)


def to_headers(envelope: Envelope) -> dict[str, str]:
    """Binary mode: the attributes as NATS headers; the payload is `envelope.data` as it is."""
    headers = {
        "ce-specversion": "1.0",
        "ce-id": envelope.id,
        "ce-source": envelope.source,
        "ce-type": envelope.type,
        "content-type": JSON,
    }
    optional = {
        "ce-subject": envelope.subject,
        "ce-time": envelope.time,
        "ce-traceparent": envelope.traceparent,
        "ce-tracestate": envelope.tracestate,
    }
    headers.update({name: value for name, value in optional.items() if value})
    headers.update({f"ce-{name}": value for name, value in envelope.extensions.items()})
    return headers


def from_message(headers: Mapping[str, str] | None, payload: bytes) -> Envelope:
    """Either mode. Raises InvalidInput that names the attribute that is missing or wrong."""
    lowered = {name.lower(): value for name, value in (headers or {}).items()}
    if lowered.get("content-type", "").split(";")[0].strip() == STRUCTURED:
        return _structured(payload)
    attributes = {name[3:]: value for name, value in lowered.items() if name.startswith("ce-")}
    return _build(attributes, payload)


def _structured(payload: bytes) -> Envelope:
    try:
        document = json.loads(payload)
    except ValueError as error:
        raise InvalidInput.one(f"the structured CloudEvent is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidInput.one("a structured CloudEvent is a JSON object")
    data: bytes
    if "data_base64" in document:
        try:
            data = base64.b64decode(document.pop("data_base64"), validate=True)
        except (ValueError, TypeError) as error:
            raise InvalidInput.one(f"data_base64 is not base64: {error}") from error
    else:
        data = json.dumps(document.pop("data", None)).encode()
    return _build({name: str(value) for name, value in document.items() if value is not None}, data)


def _build(attributes: dict[str, Any], data: bytes) -> Envelope:
    if attributes.get("specversion") != "1.0":
        found = attributes.get("specversion", "none")
        raise InvalidInput.one(f"specversion is {found}", "ce-specversion", "CloudEvents 1.0 is spoken here")
    for name in _REQUIRED:
        if not attributes.get(name):
            raise InvalidInput.one("this attribute is required", f"ce-{name}")
    known = {"specversion", "id", "source", "type", "subject", "time", "traceparent", "tracestate", "datacontenttype"}
    return Envelope(
        id=attributes["id"],
        source=attributes["source"],
        type=attributes["type"],
        data=data,
        subject=attributes.get("subject"),
        time=attributes.get("time"),
        traceparent=attributes.get("traceparent"),
        tracestate=attributes.get("tracestate"),
        extensions={name: value for name, value in attributes.items() if name not in known},
    )
