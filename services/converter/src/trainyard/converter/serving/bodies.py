"""The body of a request, up to a limit, and unpacked where the client has compressed it."""

from __future__ import annotations

import zlib

from starlette.exceptions import HTTPException
from starlette.requests import Request

from trainyard.common.errors import InvalidInput

_EITHER = 32 + zlib.MAX_WBITS
"""zlib's number for gzip or deflate, whichever it is."""


async def body_of(request: Request, limit: int) -> bytes:
    """Raises InvalidInput for what cannot be unpacked, HTTPException (413) for what is too much."""
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in {"identity", "gzip", "deflate"}:
        raise InvalidInput.one(f"Content-Encoding {encoding[:40]!r} is not served here, only gzip and deflate")
    unpack = zlib.decompressobj(_EITHER) if encoding != "identity" else None
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += unpack.decompress(chunk, limit + 1 - len(body)) if unpack else chunk
            if len(body) > limit:
                raise HTTPException(413, f"a request has {limit} bytes at most")
    except zlib.error as error:
        raise InvalidInput.one(f"the request is not {encoding}: {error}") from error
    if unpack and not unpack.eof:
        raise InvalidInput.one(f"the request is not whole {encoding}")
    return bytes(body)
