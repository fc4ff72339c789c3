"""Who may speak to a service over HTTP, decided before any route. job-api and monitor stand behind it.

Without tokens a service trusts whoever reaches loopback. A web page in the user's browser reaches it too, so what a
browser sends on behalf of another site is refused: a foreign Host (DNS rebinding), a foreign Origin, and bodies whose
type a form could send.
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from trainyard.common.bus.context import traceparent
from trainyard.common.contract import problems
from trainyard.common.errors import Unauthorized
from trainyard.common.runtime import tracing
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import is_loopback

OPEN_PATHS = frozenset({"/openapi.json", "/docs"})
BODY_TYPES = frozenset({"application/json", "application/yaml", "application/x-yaml", "text/yaml", "application/zip"})


class Guard:
    """ASGI middleware. Puts the caller's name into `scope["state"]["owner"]`."""

    def __init__(self, app: ASGIApp, *, tokens: Tokens, host: str, local_owner: str) -> None:
        self._app = app
        self._tokens = tokens
        self._host = host
        self._local_owner = local_owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None:
            try:
                owner = self._tokens.caller(headers.get("authorization"), self._host, self._local_owner)
            except Unauthorized as error:
                if scope["path"] not in OPEN_PATHS:
                    refusal = problems.of_error(error)
                owner = ""
            scope.setdefault("state", {})["owner"] = owner
        if refusal is not None:
            await _refuse(refusal, send)
            return
        token = traceparent.set(tracing.valid(headers.get("traceparent")))
        try:
            await self._app(scope, receive, send)
        finally:
            traceparent.reset(token)

    def _refusal(self, scope: Scope, headers: Headers) -> dict[str, object] | None:
        host = _hostname(headers.get("host", ""))
        if is_loopback(self._host) and not is_loopback(host):
            return problems.problem(421, f"this service listens on loopback only, not {host!r}")
        origin = headers.get("origin")
        if origin and _hostname(urlsplit(origin).netloc) != host:
            return problems.problem(403, f"requests from pages of {origin} are not taken")
        if scope["method"] in {"POST", "PUT", "PATCH"} and headers.get("content-length", "0") != "0":
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if kind not in BODY_TYPES:
                return problems.problem(
                    415, f"a body of type {kind or 'none'} is not taken; send one of {', '.join(sorted(BODY_TYPES))}"
                )
        return None


def _hostname(netloc: str) -> str:
    """`[::1]:8470` → `::1`."""
    if netloc.startswith("["):
        return netloc[1:].split("]", maxsplit=1)[0]
    return netloc.rsplit(":", 1)[0] if ":" in netloc else netloc


async def _refuse(body: dict[str, object], send: Send) -> None:
    headers = [(b"content-type", problems.MEDIA_TYPE.encode())]
    if body["status"] == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": body["status"], "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
