"""What a test can make the double do wrong, and what it sees of its clients."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from trainyard.cluster_double.server import ClusterDouble
from trainyard.cluster_double.testing.api import Api
from trainyard.cluster_double.testing.manifests import a_config

CONFIGS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def double(cluster_double: ClusterDouble) -> ClusterDouble:
    return cluster_double


@pytest.fixture
def api(cluster_kubeconfig: Path) -> Iterator[Api]:
    api = Api(cluster_kubeconfig)
    yield api
    api.close()


def test_the_next_requests_are_refused(double: ClusterDouble, api: Api) -> None:
    double.faults.answer(429, count=2, retry_after=3)
    for _ in range(2):
        reply = api.get(CONFIGS)
        assert (reply.code, reply.body["reason"]) == (429, "TooManyRequests")
        assert reply.headers["retry-after"] == "3"
        assert reply.body["details"]["retryAfterSeconds"] == 3
    assert api.get(CONFIGS).code == 200
    double.faults.answer(503)
    assert api.get(CONFIGS).body["reason"] == "ServiceUnavailable"
    double.faults.answer(410, matching="watch=1")
    watched = api.get(CONFIGS, watch=1, resourceVersion=1)
    assert (watched.code, watched.body["reason"]) == (410, "Expired"), "as a status, where a stream was asked for"


def test_only_what_is_meant_is_refused(double: ClusterDouble, api: Api) -> None:
    double.faults.answer(500, matching=r"^POST .*/configmaps")
    assert api.get(CONFIGS).code == 200
    assert api.post(CONFIGS, a_config("a")).code == 500
    assert api.post(CONFIGS, a_config("a")).code == 201


def test_a_connection_is_dropped(double: ClusterDouble, api: Api) -> None:
    double.faults.drop()
    with pytest.raises(httpx.RemoteProtocolError):
        api.get(CONFIGS)
    assert api.get(CONFIGS).code == 200
    assert [seen.code for seen in double.journal.matching("^GET .*/configmaps")] == [0, 200]


def test_a_dropped_write_was_not_made(double: ClusterDouble, api: Api) -> None:
    double.faults.drop(matching="^POST")
    with pytest.raises(httpx.RemoteProtocolError):
        api.post(CONFIGS, a_config("a"))
    assert api.get(f"{CONFIGS}/a").code == 404


def test_slow_answers(double: ClusterDouble, api: Api) -> None:
    double.faults.slow(0.3)
    began = time.monotonic()
    api.get(CONFIGS)
    assert time.monotonic() - began >= 0.3


def test_an_outage(double: ClusterDouble, api: Api) -> None:
    double.faults.outage(0.4)
    with pytest.raises(httpx.RemoteProtocolError):
        api.get(CONFIGS)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            assert api.get(CONFIGS).code == 200
            break
        except httpx.RemoteProtocolError:
            time.sleep(0.05)
    else:
        pytest.fail("the double did not come back")


def test_watches_are_cut_in_the_middle(double: ClusterDouble, api: Api) -> None:
    stream = api.watch(CONFIGS, 30)
    next(stream)
    threading.Timer(0.2, double.faults.cut_watches).start()
    with pytest.raises(httpx.RemoteProtocolError):
        list(stream)


def test_a_half_open_watch_says_nothing(double: ClusterDouble, api: Api) -> None:
    start = api.get(CONFIGS).version
    api.made("/api/v1/namespaces/default/secrets", {"metadata": {"name": "elsewhere"}})
    stream = api.watch(CONFIGS, 30, resourceVersion=start, allowWatchBookmarks="true")
    assert next(stream)[0] == "BOOKMARK"
    double.faults.freeze_watches()
    api.made(CONFIGS, a_config("a"))
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.extend(obj["metadata"]["name"] for kind, obj in _until_added(stream)))
    reader.start()
    reader.join(0.7)
    assert reader.is_alive()
    assert not seen
    double.faults.thaw_watches()
    reader.join(10)
    assert seen == ["a"]


def _until_added(stream: Iterator[tuple[str, dict]]) -> Iterator[tuple[str, dict]]:
    for kind, obj in stream:
        if kind == "ADDED":
            yield kind, obj
            return


def test_history_is_forgotten(double: ClusterDouble, api: Api) -> None:
    for index in range(3):
        api.made(CONFIGS, a_config(f"c{index}"))
    start = api.get(CONFIGS, limit=1)
    api.made(CONFIGS, a_config("late"))
    double.faults.expire_history()
    kind, status = next(api.watch(CONFIGS, 5, resourceVersion=start.version))
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    page = api.get(CONFIGS, limit=1, **{"continue": start.body["metadata"]["continue"]})
    assert (page.code, page.body["reason"]) == (410, "Expired")
    resumed = api.get(CONFIGS, **{"continue": page.body["metadata"]["continue"]})
    assert resumed.code == 200, "the fault brings a token with which an inconsistent list goes on"
    assert "late" in resumed.names


def test_every_request_is_in_the_journal(double: ClusterDouble, api: Api) -> None:
    double.journal.clear()
    api.made(CONFIGS, a_config("a"), fieldManager="me")
    api.patch(f"{CONFIGS}/a", {"data": {"x": "1"}})
    first, second = itertools.islice(double.journal.all(), 2)
    assert first.line == f"POST {CONFIGS}?fieldManager=me"
    assert (first.code, first.user_agent) == (201, "contract/1")
    assert second.content_type == "application/merge-patch+json"
    assert double.journal.matching("^PATCH") == [second]


def test_troubles_are_cleared(double: ClusterDouble, api: Api) -> None:
    double.faults.answer(500, count=100)
    double.faults.clear()
    assert api.get(CONFIGS).code == 200
