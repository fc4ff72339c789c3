"""Reading a document from a request: bounded, JSON or YAML, refused in words."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from trainyard.common.contract import jobfile
from trainyard.common.contract.views import View
from trainyard.common.errors import InvalidInput


class TooLarge(InvalidInput):
    status = 413
    code = "too-large"


async def document(request: Request) -> dict[str, Any]:
    """The body as a mapping. A body that is too long is not read to its end."""
    declared = request.headers.get("content-length", "0")
    body = bytearray()
    if declared.isdigit() and int(declared) > jobfile.MAX_BYTES:
        raise _too_large(int(declared))
    async for chunk in request.stream():
        body += chunk
        if len(body) > jobfile.MAX_BYTES:
            raise _too_large(len(body))
    if "yaml" in request.headers.get("content-type", ""):
        return jobfile.parse_yaml(bytes(body))
    return jobfile.parse_json(bytes(body))


def _too_large(length: int) -> TooLarge:
    try:
        jobfile.check_size(length)
    except InvalidInput as error:
        return TooLarge(error.problems)
    raise AssertionError("only called for bodies above the limit")


def reply(status: int, view: View, headers: dict[str, str] | None = None) -> Response:
    """A view as JSON, without going through a second validation."""
    return Response(view.model_dump_json(exclude_none=True), status, headers, "application/json")
