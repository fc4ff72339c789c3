"""What comes from the API server: one bad object or one endless line is nobody else's trouble."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from trainyard.cluster_double.server import ClusterDouble, kubeconfig
from trainyard.cluster_double.testing.api import Api as Client
from trainyard.common.clock import SystemClock
from trainyard.common.errors import Unavailable
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import api as apis
from trainyard.launcher.adapters.kubernetes import kinds, logs, watching
from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.logs import PodLogs
from trainyard.launcher.adapters.kubernetes.throttle import Throttle
from trainyard.launcher.adapters.kubernetes.watching import Informer, Scope
from trainyard.launcher.core.cluster.pods import Pod


def configured(folder: Path, url: str) -> str:
    path = folder / "config"
    path.write_text(str(kubeconfig(url)))  # JSON, nearly: YAML reads it
    return str(path)


async def test_an_object_that_cannot_be_read_is_skipped_and_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(document: dict[str, Any]) -> str:
        return str(document["data"]["word"])  # some have no data

    def told(before: str | None, after: str | None) -> None:
        heard.append((before, after))
        if after == "fatal":
            raise ValueError("of the one who hears")

    heard: list[tuple[str | None, str | None]] = []
    with ClusterDouble() as double:
        client = Client(double.kubeconfig(tmp_path))
        path = "/api/v1/namespaces/default/configmaps"

        def put(name: str, word: str | None) -> None:
            data = {"data": {"word": word}} if word else {}
            client.made(path, {"metadata": {"name": name}, **data})

        put("bad", None)
        put("good", "one")
        api = await Api.connect(str(tmp_path / "kubeconfig"))
        informer = Informer(api, kinds.CONFIG_MAP, Scope("default"), SystemClock(), read, told)
        running = asyncio.create_task(informer.run())
        try:
            await eventually(lambda: (None, "one") in heard)
            put("worse", None)
            put("loud", "fatal")
            put("better", "two")
            await eventually(lambda: (None, "two") in heard)
            informer._version = None  # as after a fault: everything is listed again
            double.faults.cut_watches()
            put("last", "three")
            await eventually(lambda: (None, "three") in heard)
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await api.close()
            client.close()
    assert sorted(informer.all()) == ["fatal", "one", "three", "two"]
    said = capsys.readouterr().out
    assert [said.count(f"object=('default', '{name}')") for name in ("bad", "worse", "loud")] == [1, 1, 1]


def test_what_cannot_be_read_is_remembered_of_so_many_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's events come and go for ever, and any of them may be one."""
    monkeypatch.setattr(watching, "MOST_UNREADABLE", 3)
    nobody: Any = None
    informer = Informer[str](nobody, kinds.EVENT, Scope(), SystemClock(), lambda document: str(document["words"]))
    for number in range(10):
        metadata = {"namespace": "ml", "name": f"e{number}", "resourceVersion": str(number)}
        informer._take(json.dumps({"type": "ADDED", "object": {"metadata": metadata}}).encode())
    assert [name for _, name in informer._unreadable] == ["e7", "e8", "e9"]


@pytest.fixture
async def speaking(tmp_path: Path) -> AsyncIterator[tuple[Api, list[bytes]]]:
    """An API server that says this of every log, in pieces."""
    said: list[bytes] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in said:
            await response.write(piece)
        return response

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api = await Api.connect(configured(tmp_path, f"http://127.0.0.1:{runner.addresses[0][1]}"))
    yield api, said
    await api.close()
    await runner.cleanup()


async def lines(api: Api, *, cut: bool) -> list[bytes]:
    async with api.stream("/log", {}, 10.0, cut=cut) as found:
        return [line async for line in found]


async def test_a_line_that_is_too_long_is_cut_and_says_so(speaking: Any) -> None:
    api, said = speaking
    piece = b"x" * 2**20
    said += [b"first\nsec", b"ond\n", *[piece] * 6, b"tail\n", b"\n", b"last"]
    found = await lines(api, cut=True)
    assert [found[0], found[1], *found[3:]] == [b"first", b"second", b"", b"last"]
    assert found[2] == piece * 4 + apis.CUT
    with pytest.raises(Unavailable, match="longer than"):
        await lines(api, cut=False)


async def test_a_log_goes_on_after_an_error_that_nobody_expected(
    speaking: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, said = speaking
    said.append(b"2026-12-01T10:00:00.000000001Z hello\n")
    monkeypatch.setattr(logs, "BACKOFF", (0.01,))
    followed = PodLogs(api, tmp_path, lambda pod: True, Throttle(SystemClock(), 100.0, 100), 1024)
    store_line, failing = followed._store_line, [True]

    def store(*words: Any) -> None:
        if failing:
            failing.clear()
            raise KeyError("a bug")
        store_line(*words)

    monkeypatch.setattr(followed, "_store_line", store)
    followed.hear(Pod("p", "default", "u", "j", 1, "worker", 0, "n", 0.0, over=True), gone=False)
    await eventually(lambda: followed.stored(["u"]))
    assert followed.faults == 1
    await followed.close()


async def test_a_pod_that_ends_does_not_wait_for_its_log_to_be_opened(speaking: Any, tmp_path: Path) -> None:
    api, _ = speaking
    opening = Throttle(SystemClock(), 0.001, 1)  # one in a quarter of an hour
    opening.place()
    followed = PodLogs(api, tmp_path, lambda pod: True, opening, 1024)
    pod = Pod("p", "default", "u", "j", 1, "worker", 0, "n", 0.0, running=True)
    followed.hear(pod, gone=False)
    await asyncio.sleep(0.1)
    followed.hear(Pod("p", "default", "u", "j", 1, "worker", 0, "n", 0.0, over=True), gone=False)
    await eventually(lambda: followed.stored(["u"]), within=5)
    await followed.close()
