"""A client that shows what a server really answers: codes, headers, bodies. The suites assert on these."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import yaml

from trainyard.cluster_double.core.objects import Json

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
T = TypeVar("T")
PATIENCE = float(os.environ.get("TRAINYARD_TEST_PATIENCE", "1"))
"""What every wait is multiplied by, as in the tests of the other packages."""


@dataclass(frozen=True, slots=True)
class Reply:
    code: int
    body: Json
    text: str
    headers: httpx.Headers

    @property
    def causes(self) -> list[Json]:
        found: list[Json] = (self.body.get("details") or {}).get("causes") or []
        return found

    @property
    def version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


class Api:
    """Speaks to the server of a kubeconfig, with its token."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        server, token = document["clusters"][0]["cluster"]["server"], document["users"][0]["user"]["token"]
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "contract/1"}
        self.http = httpx.Client(base_url=server, headers=headers, verify=False, timeout=60)  # noqa: S501  (loopback)

    def close(self) -> None:
        self.http.close()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        media: str = "application/json",
        accept: str = "*/*",
        **query: object,
    ) -> Reply:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Accept": accept, **({"Content-Type": media} if body is not None else {})}
        answer = self.http.request(method, path, content=content, headers=headers, params=_text(query))
        try:
            found = answer.json()
        except ValueError:
            found = {}
        return Reply(answer.status_code, found if isinstance(found, dict) else {}, answer.text, answer.headers)

    def get(self, path: str, **query: Any) -> Reply:
        return self.call("GET", path, **query)

    def post(self, path: str, body: object, **query: Any) -> Reply:
        return self.call("POST", path, body, **query)

    def put(self, path: str, body: object, **query: Any) -> Reply:
        return self.call("PUT", path, body, **query)

    def patch(self, path: str, body: object, media: str = MERGE, **query: Any) -> Reply:
        return self.call("PATCH", path, body, media=media, **query)

    def delete(self, path: str, body: object = None, **query: Any) -> Reply:
        return self.call("DELETE", path, body, **query)

    def made(self, path: str, body: object, **query: Any) -> Json:
        """Creates, or says why not."""
        reply = self.post(path, body, **query)
        assert reply.code == 201, reply.text  # noqa: S101
        return reply.body

    def watch(self, path: str, seconds: int = 2, **query: object) -> Iterator[tuple[str, Json]]:
        """(kind, object) until the server ends the stream, which it is asked to do after some seconds."""
        asked = _text({"watch": "1", "timeoutSeconds": seconds, **query})
        with self.http.stream("GET", path, params=asked) as answer:
            for line in answer.iter_lines():
                event = json.loads(line)
                yield event["type"], event["object"]


def eventually(ask: Callable[[], T], seconds: float = 30.0) -> T:
    """Asks until the answer is true, and gives it; after the time is up the last answer is in the fault."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        found = ask()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"still not so after {seconds:g} s: {found!r}")
        time.sleep(0.05)


def _text(query: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items()}
