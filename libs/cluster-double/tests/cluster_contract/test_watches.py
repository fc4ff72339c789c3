"""Watches: nothing is missed, nothing is told twice."""

from __future__ import annotations

import itertools
import threading

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.testing.api import MERGE, Api
from trainyard.cluster_double.testing.manifests import a_config

OURS = "mine=yes"
LABELS = {"mine": "yes"}


def short(events: list[tuple[str, Json]]) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"]["name"]) for kind, obj in events if kind != "BOOKMARK"]


def test_from_the_version_of_a_list(api: Api, configs: str) -> None:
    api.made(configs, a_config("before", labels=LABELS))
    start = api.get(configs).version
    api.made(configs, a_config("a", labels=LABELS))
    api.patch(f"{configs}/a", {"data": {"x": "1"}})
    api.delete(f"{configs}/a")
    seen = list(itertools.islice(api.watch(configs, 20, resourceVersion=start, labelSelector=OURS), 3))
    assert short(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in seen]
    assert versions == sorted(set(versions))
    assert versions[0] > int(start)


def test_without_a_version_it_begins_with_what_is_there(api: Api, configs: str) -> None:
    for name in ("a", "b"):
        api.made(configs, a_config(name, labels=LABELS))
    seen = list(itertools.islice(api.watch(configs, 20, labelSelector=OURS), 2))
    assert sorted(short(seen)) == [("ADDED", "a"), ("ADDED", "b")]


def test_what_happens_meanwhile_is_told(api: Api, configs: str) -> None:
    stream = api.watch(configs, 20, labelSelector=OURS)
    api.made(configs, a_config("first", labels=LABELS))
    assert next(stream)[1]["metadata"]["name"] == "first"
    api.made(configs, a_config("second", labels=LABELS))
    assert next(stream)[1]["metadata"]["name"] == "second"
    stream.close()


def test_leaving_and_joining_a_selection(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", labels=LABELS))
    start = api.get(configs).version
    api.patch(f"{configs}/a", {"metadata": {"labels": {"mine": "no"}}})
    api.patch(f"{configs}/a", {"data": {"x": "1"}})
    api.patch(f"{configs}/a", {"metadata": {"labels": LABELS}})
    seen = list(itertools.islice(api.watch(configs, 20, resourceVersion=start, labelSelector=OURS), 2))
    assert short(seen) == [("DELETED", "a"), ("ADDED", "a")]


def test_one_object_by_its_name(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    api.made(configs, a_config("b"))
    start = api.get(configs).version
    for name in ("b", "a"):
        api.patch(f"{configs}/{name}", {"data": {"x": "1"}})
    seen = next(api.watch(configs, 20, resourceVersion=start, fieldSelector="metadata.name=a"))
    assert seen[1]["metadata"]["name"] == "a"


def test_it_ends_when_asked_to(api: Api, configs: str) -> None:
    assert list(api.watch(configs, 1, resourceVersion=api.get(configs).version, labelSelector=OURS)) == []


def test_bookmarks_say_how_far_it_is(api: Api, configs: str) -> None:
    start = api.get(configs).version
    later = threading.Timer(0.5, api.made, (configs, a_config("somebody-elses")))
    later.start()
    seen = list(api.watch(configs, 5, resourceVersion=start, labelSelector=OURS, allowWatchBookmarks="true"))
    later.join()
    assert {kind for kind, _ in seen} == {"BOOKMARK"}
    assert all(obj["kind"] == "ConfigMap" for _, obj in seen)
    assert int(seen[-1][1]["metadata"]["resourceVersion"]) > int(start), "past what the watch did not show"


def test_the_end_of_the_beginning_is_marked(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", labels=LABELS))
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    seen = list(itertools.islice(api.watch(configs, 20, labelSelector=OURS, **asked), 2))
    assert [kind for kind, _ in seen] == ["ADDED", "BOOKMARK"]
    assert seen[1][1]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"


def test_a_version_that_is_forgotten(api: Api) -> None:
    kind, status = next(api.watch("/api/v1/namespaces", 5, resourceVersion=1))
    assert kind == "ERROR"
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("too old resource version: 1")


def test_a_version_that_is_none(api: Api, configs: str) -> None:
    assert api.get(configs, watch=1, resourceVersion="nonsense").code == 500


def test_a_change_that_changes_nothing_is_not_told(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", {"x": "1"}, labels=LABELS))
    start = api.get(configs).version
    api.patch(f"{configs}/a", {"data": {"x": "1"}}, MERGE)
    assert list(api.watch(configs, 1, resourceVersion=start, labelSelector=OURS)) == []
