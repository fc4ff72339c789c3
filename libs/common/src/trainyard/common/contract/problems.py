"""RFC 9457 problem details: what an error looks like over HTTP and in the answer to a NATS command."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from trainyard.common.errors import InvalidInput, Retryable, TrainyardError, UserError

MEDIA_TYPE = "application/problem+json"


def problem(status: int, detail: str, *, code: str | None = None, **members: Any) -> dict[str, Any]:
    """The body. `type` is a URN that scripts can match; `title` is the status in words."""
    title = HTTPStatus(status).phrase
    name = code or title.lower().replace(" ", "-")
    return {"type": f"urn:trainyard:problem:{name}", "title": title, "status": status, "detail": detail, **members}


def of_error(error: TrainyardError) -> dict[str, Any]:
    """The problem that an error of our tree is; `body["status"]` is the HTTP status."""
    if isinstance(error, InvalidInput):
        errors = [
            {"pointer": "/" + item.where.replace(".", "/") if item.where else "", "detail": item.what, "hint": item.hint}
            for item in error.problems
        ]
        return problem(error.status, str(error), code=error.code, errors=errors)
    if isinstance(error, UserError):
        return problem(error.status, str(error), code=error.code)
    if isinstance(error, Retryable):
        return problem(503, str(error), retry_after=error.delay)
    return problem(500, str(error))
