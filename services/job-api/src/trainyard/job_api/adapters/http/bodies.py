"""Reading a document from a request: bounded, JSON or YAML, refused in words."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

from trainyard.common.contract import jobfile
from trainyard.common.contract.quantities import human_bytes
from trainyard.common.errors import InvalidInput


class TooLarge(InvalidInput):
    status = 413
    code = "too-large"


async def document(request: Request) -> dict[str, Any]:
    """The body as a mapping. A body that is too long is not read to its end."""
    body = await read(request, jobfile.MAX_BYTES)
    if "yaml" in request.headers.get("content-type", ""):
        return jobfile.parse_yaml(body)
    return jobfile.parse_json(body)


async def read(request: Request, most: int) -> bytes:
    """The body as it is. Raises TooLarge before there are more than `most` bytes of it."""
    declared = request.headers.get("content-length", "0")
    body = bytearray()
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(int(declared), most)
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise _too_large(len(body), most)
    return bytes(body)


def _too_large(length: int, most: int) -> InvalidInput:
    return TooLarge.one(f"the body has {human_bytes(length)}, at most {human_bytes(most)} are read")


def reply(status: int, view: BaseModel, headers: dict[str, str] | None = None) -> Response:
    """A view as JSON, without going through a second validation."""
    return Response(view.model_dump_json(exclude_none=True), status, headers, "application/json")
