"""What an API server answers when it refuses: a `Status` object with a code, a reason, a sentence and, for 422, causes.

Every layer below HTTP raises `ApiError`; the HTTP layer turns it into a response. The sentences are those of a real
server, since clients and people match on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.resources import Resource


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of a field. `message` is what follows the field's path."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass(slots=True)
class ApiError(Exception):
    code: int
    reason: str
    message: str
    details: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    resume: str = ""
    """A continue token with which an expired list can go on, inconsistently."""

    def status(self) -> Json:
        body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.resume} if self.resume else {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if self.details is not None:
            body["details"] = self.details
        if not self.reason:
            del body["reason"]
        return body


def required(field_path: str, detail: str = "") -> Cause:
    return Cause(field_path, f"Required value{': ' + detail if detail else ''}", "FieldValueRequired")


def invalid_value(field_path: str, value: object, detail: str) -> Cause:
    return Cause(field_path, f"Invalid value: {shown(value)}: {detail}")


def forbidden_value(field_path: str, detail: str) -> Cause:
    return Cause(field_path, f"Forbidden: {detail}", "FieldValueForbidden")


def unsupported_value(field_path: str, value: object, supported: Sequence[str]) -> Cause:
    names = ", ".join(f'"{name}"' for name in sorted(supported))
    return Cause(field_path, f"Unsupported value: {shown(value)}: supported values: {names}", "FieldValueNotSupported")


def duplicate_value(field_path: str, value: object) -> Cause:
    return Cause(field_path, f"Duplicate value: {shown(value)}", "FieldValueDuplicate")


def shown(value: object) -> str:
    """A value as Go prints it in a field's fault."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    return "null" if value is None else str(value)


def qualified(resource: Resource) -> str:
    """`pods`, `jobs.batch`."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _details(resource: Resource, name: str, **more: object) -> Json:
    details: Json = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": resource.plural, **more}


def not_found(resource: Resource, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{qualified(resource)} "{name}" not found', _details(resource, name))


def already_exists(resource: Resource, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{qualified(resource)} "{name}" already exists', _details(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    sentence = f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}'
    return ApiError(409, "Conflict", sentence, _details(resource, name))


def stale(resource: Resource, name: str) -> ApiError:
    return conflict(
        resource, name, "the object has been modified; please apply your changes to the latest version and try again"
    )


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Json] = ()) -> ApiError:
    details = _details(resource, name, **({"causes": list(causes)} if causes else {}))
    return ApiError(403, "Forbidden", f'{qualified(resource)} "{name}" is forbidden: {why}', details)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiError:
    lines = [f"{cause.field}: {cause.message}" for cause in causes]
    said = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details: Json = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.kind
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {said}', details)


def bad_request(why: str) -> ApiError:
    return ApiError(400, "BadRequest", why)


def expired(why: str) -> ApiError:
    return ApiError(410, "Expired", why)


def unsupported_media(supported: Sequence[str]) -> ApiError:
    why = f"the body of the request was in an unknown format - accepted media types include: {', '.join(supported)}"
    return ApiError(415, "UnsupportedMediaType", why)


def method_not_allowed() -> ApiError:
    why = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", why, {})
