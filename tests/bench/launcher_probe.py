"""The launcher as it ships, with notes taken: when it had seen which version of a pod, and what it asked of the API server.

Started by bench_launcher_scale.py; the notes are written to PROBE_FILE when it ends.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.watching import Informer

_PATH = re.compile(r"^/apis?/(?:[^/]+/)?v[^/]+(?:/namespaces/[^/]+(?=/))?/([^/]+)(?:/[^/]+)?(?:/([^/]+))?$")
versions, times = array.array("Q"), array.array("d")
asked: Counter[str] = Counter()
take, send = Informer._take, Api._send


def noted_take(informer: Informer[Any], line: bytes) -> str:
    version = take(informer, line)
    if informer._kind.name == "Pod":
        versions.append(int(version))
        times.append(time.time())
    return version


async def noted_send(api: Api, method: str, path: str, query: Any, *more: Any) -> Any:
    asked[kind_of_request(method, path, dict(query or {}))] += 1
    return await send(api, method, path, query, *more)


def kind_of_request(method: str, path: str, query: dict[str, str]) -> str:
    """`GET pods/log`, `LIST pods`, `WATCH pods`, `APPLY configmaps`, …"""
    found = _PATH.match(path)
    kind = "/".join(filter(None, found.groups())) if found else path
    named = path.rstrip("/").rsplit("/", 1)[-1] != kind
    if method == "GET" and not named:
        method = "WATCH" if "watch" in query else "LIST"
    return f"{'APPLY' if 'force' in query else method} {kind}"


def write() -> None:
    notes = {"versions": versions.tolist(), "times": times.tolist(), "asked": asked}
    Path(os.environ["PROBE_FILE"]).write_text(json.dumps(notes))


if __name__ == "__main__":
    Informer._take = noted_take  # type: ignore[method-assign]
    Api._send = noted_send  # type: ignore[assignment,method-assign]
    atexit.register(write)
    import trainyard.launcher.__main__  # noqa: F401 - it runs
