"""Requests to the API server, as plain documents.

The official client knows how to find and authenticate to a cluster; its thousand model classes are not used, because what
is sent was built as documents (`core/manifests`) and what comes back is looked at as such. Every fault becomes one of two:
`Unavailable` (try again: no connection, 429, 5xx) or `Refused` (the API server has said no, with its reason).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
from kubernetes.aio.client import ApiClient
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.client.rest import RESTResponse

from trainyard.common.errors import TrainyardError, Unavailable
from trainyard.common.version import VERSION
from trainyard.launcher.adapters.kubernetes import credentials
from trainyard.launcher.adapters.kubernetes.kinds import Kind, kind_of
from trainyard.launcher.adapters.kubernetes.throttle import Throttle

FIELD_MANAGER = "trainyard"
USER_AGENT = f"trainyard-launcher/{VERSION}"
"""What the API server's audit log shows."""
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
PAGE = 500  # objects of a list in one answer
PATIENCE = 30.0  # seconds for one answer
LONGEST_DELAY = 60.0  # seconds that a Retry-After is believed
LONGEST = 4 * 2**20  # bytes of one line
CUT = b" [cut: the line is longer than 4 MiB]"
_TRANSPORT = (aiohttp.ClientError, asyncio.TimeoutError, OSError)

Document = dict[str, Any]


class Refused(TrainyardError):
    """The API server's own refusal: its HTTP status, its reason (`AlreadyExists`, `Forbidden` …) and its words."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(message)


class Api:
    def __init__(self, client: ApiClient, throttle: Throttle | None, who: str) -> None:
        """`who`: as whom it is asked, in words."""
        self._client = client
        self._who = who
        self._throttle = throttle

    @classmethod
    async def connect(
        cls, kubeconfig: str | None, throttle: Throttle | None = None, context: str | None = None
    ) -> Self:
        """With a kubeconfig (and a context of it, absent: its current one), or as the pod that this runs in. `throttle`: for
        requests that change something; None: none will. Raises InvalidInput when there is no cluster to reach."""
        client, who = await credentials.client(kubeconfig, context)
        client.user_agent = USER_AGENT
        return cls(client, throttle, who)

    async def close(self) -> None:
        await self._client.close()

    async def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Document | None = None,
        content: str = "application/json",
        *,
        urgent: bool = False,
    ) -> Document:
        """One answer. What changes something waits its turn, unless it is urgent. Raises Refused and Unavailable."""
        if method != "GET" and not urgent and self._throttle is not None:
            await self._throttle.turn()
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        try:
            response = await self._send(method, path, query, body, content, timeout)
            text = await response.response.text(errors="replace")
        except _TRANSPORT as error:
            raise Unavailable(f"the API server does not answer: {error or type(error).__name__}") from error
        if response.status >= 400:
            fault = self._fault(response, text)
            if response.status == 429 and isinstance(fault, Unavailable) and self._throttle is not None:
                self._throttle.pause(fault.delay)
            raise fault
        try:
            found = json.loads(text) if text else {}
        except ValueError as error:
            raise Unavailable(f"the API server answered with something that is not JSON: {text[:100]!r}") from error
        if not isinstance(found, dict):
            raise Unavailable(f"the API server answered with something that is no object: {text[:100]!r}")
        return found

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], silence: float, *, cut: bool = False
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Lines, without their ends, for as long as they come; `cut`: those that are too long are. `silence`: seconds without
        a byte after which the connection counts as dead, though nobody has closed it. Raises Refused and Unavailable, also
        from the lines."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=PATIENCE, sock_read=silence)
        try:
            response = await self._send("GET", path, query, None, "application/json", timeout)
            if response.status >= 400:
                raise self._fault(response, await response.response.text(errors="replace"))
        except _TRANSPORT as error:
            raise Unavailable(f"the API server does not answer: {error or type(error).__name__}") from error
        try:
            yield _lines(response, cut=cut)
        finally:
            response.response.close()

    async def pages(self, path: str, query: Mapping[str, str] | None = None) -> AsyncIterator[Document]:
        """A list, page by page. Raises Refused and Unavailable; Refused with 410 between two pages when the list is too old
        to be gone on with."""
        asked = {**(query or {}), "limit": str(PAGE)}
        while True:
            page = await self.call("GET", path, asked)
            yield page
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return
            asked["continue"] = following

    async def get(self, kind: Kind, namespace: str | None, name: str) -> Document | None:
        """None: there is no such object."""
        try:
            return await self.call("GET", kind.path(namespace, name))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    async def apply(self, manifest: Document, *, urgent: bool = False) -> Document:
        """Server-side apply: ours are the fields that we name, whoever wrote the object first."""
        metadata = manifest["metadata"]
        path = kind_of(manifest).path(metadata.get("namespace"), metadata["name"])
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self.call("PATCH", path, query, manifest, APPLY, urgent=urgent)

    async def create(self, manifest: Document) -> Document:
        """Only where there is none: Refused with `AlreadyExists` otherwise."""
        path = kind_of(manifest).path(manifest["metadata"].get("namespace"))
        return await self.call("POST", path, {"fieldManager": FIELD_MANAGER}, manifest)

    async def delete(self, kind: Kind, namespace: str | None, name: str, uid: str, version: str | None = None) -> None:
        """This very object (in this very version), and with it what it owns. That it is gone already, or is another one, is
        what was wanted."""
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid, **({"resourceVersion": version} if version else {})},
        }
        try:
            await self.call("DELETE", kind.path(namespace, name), None, options)
        except Refused as error:
            if error.status not in {404, 409}:  # gone, or another one has its name by now
                raise

    def _fault(self, response: RESTResponse, text: str) -> TrainyardError:
        try:
            status = json.loads(text)
        except ValueError:
            status = {}
        status = status if isinstance(status, dict) else {}
        message = str(status.get("message") or text[:200] or response.reason)
        if response.status == 429 or response.status >= 500:
            return Unavailable(f"the API server is busy ({response.status}): {message}", _delay(response))
        if response.status == 401:
            message = (
                f"the API server does not accept the credentials of {self._who} ({message}): they are wrong or expired"
            )
        return Refused(response.status, str(status.get("reason") or ""), message)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Document | None,
        content: str,
        timeout: aiohttp.ClientTimeout,
    ) -> RESTResponse:
        try:
            request = await self._client.param_serialize(
                method,
                path,
                query_params=list((query or {}).items()),
                header_params={"Content-Type": content, "Accept": "application/json"},
                body=body,
                auth_settings=["BearerToken"],
            )
            return await self._client.call_api(*request, _request_timeout=timeout)
        except ApiException as error:
            raise Unavailable(f"the API server cannot be asked: {error.reason}") from error


async def _lines(response: RESTResponse, *, cut: bool) -> AsyncIterator[bytes]:
    """`cut`: a line that is too long is shortened, and says so; otherwise it is a fault."""
    held, skips = bytearray(), False
    try:
        async for chunk in response.response.content.iter_any():
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                if not skips:
                    yield _shortened(held + part) if cut and len(held) + len(part) > LONGEST else bytes(held + part)
                held, skips = bytearray(), False
            if skips:
                continue
            held += rest
            if len(held) > LONGEST:
                if not cut:
                    raise Unavailable(f"the API server sent a line that is longer than {LONGEST} bytes")
                yield _shortened(held)
                held, skips = bytearray(), True
    except _TRANSPORT as error:
        raise Unavailable(f"the connection to the API server is gone: {error or type(error).__name__}") from error
    if held:
        yield bytes(held)


def _shortened(line: bytearray) -> bytes:
    return bytes(line[:LONGEST]) + CUT


def _delay(response: RESTResponse) -> float:
    try:
        return min(LONGEST_DELAY, max(0.0, float(response.response.headers.get("Retry-After", "1"))))
    except ValueError:
        return 1.0
