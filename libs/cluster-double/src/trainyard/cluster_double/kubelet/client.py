"""The few requests of the API that a kubelet makes. It has patience: it outlives every outage of its server."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

import aiohttp
import yaml

from trainyard.cluster_double.core.objects import Json, meta

AGENT = "scripted-kubelet"
STRATEGIC = "application/strategic-merge-patch+json"
_PATIENCE = 0.1  # seconds between tries


class Refused(Exception):
    def __init__(self, code: int, status: Json) -> None:
        super().__init__(f"{code}: {status.get('message', '')}")
        self.code = code


class Client:
    def __init__(self, kubeconfig: Path) -> None:
        """Raises ValueError for a kubeconfig without a token or a client certificate that could be used."""
        document = yaml.safe_load(kubeconfig.read_text())
        current = document.get("current-context") or document["contexts"][0]["name"]
        context = next(one["context"] for one in document["contexts"] if one["name"] == current)
        self._cluster = next(one["cluster"] for one in document["clusters"] if one["name"] == context["cluster"])
        user = next(one["user"] for one in document["users"] if one["name"] == context["user"])
        self._server = str(self._cluster["server"]).rstrip("/")
        if "token" not in user:
            raise ValueError(
                f"{kubeconfig}: user {context['user']} has no token; the scripted kubelet logs in by token alone"
            )
        self._headers = {"Authorization": f"Bearer {user['token']}", "User-Agent": AGENT}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=64, ssl=self._tls())
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers, timeout=timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def request(self, method: str, path: str, body: Json | None = None, media: str = "application/json") -> Json:
        """Tries until there is an answer. Raises Refused for one that another try would not change."""
        assert self._session is not None  # noqa: S101
        data = None if body is None else json.dumps(body)
        while True:
            try:
                headers = {"Content-Type": media}
                async with self._session.request(method, self._server + path, data=data, headers=headers) as response:
                    found: Json = await response.json(content_type=None) or {}
                    if response.status < 400:
                        return found
                    if response.status != 429 and response.status < 500:
                        raise Refused(response.status, found)
            except (aiohttp.ClientError, TimeoutError, OSError, json.JSONDecodeError):
                pass  # the server is away; it will be back, or the test ends
            await asyncio.sleep(_PATIENCE)

    async def watch(self, path: str) -> AsyncIterator[tuple[str, Json]]:
        """(kind, object) for ever: LIST with all that is there, then what happens, and LIST again when the stream broke."""
        while True:
            listed = await self.request("GET", path)
            yield "LIST", listed
            async for kind, obj in self._follow(path, meta(listed)["resourceVersion"]):
                yield kind, obj
            await asyncio.sleep(_PATIENCE)

    async def _follow(self, path: str, version: str) -> AsyncIterator[tuple[str, Json]]:
        assert self._session is not None  # noqa: S101
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "600"}
        try:
            async with self._session.get(self._server + path, params=query) as response:
                if response.status != 200:
                    return
                rest = b""
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            return
                        yield event["type"], event["object"]
        except (aiohttp.ClientError, TimeoutError, OSError):
            return

    def _tls(self) -> ssl.SSLContext | bool:
        if self._cluster.get("insecure-skip-tls-verify"):
            return False
        data = self._cluster.get("certificate-authority-data")
        return ssl.create_default_context(cadata=base64.b64decode(data).decode()) if data else True
