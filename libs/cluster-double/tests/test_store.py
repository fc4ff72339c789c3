"""The store: revisions, indexes, and the past."""

from __future__ import annotations

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.store.events import as_seen
from trainyard.cluster_double.store.store import Store


def an_object(name: str, namespace: str = "n", **metadata: object) -> Json:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace, **metadata}}


def names(found: list[Json] | None) -> list[str]:
    assert found is not None
    return [obj["metadata"]["name"] for obj in found]


def test_revisions_only_grow_and_are_written_into_objects() -> None:
    store = Store()
    first, second = store.put("/pods", an_object("a")), store.put("/pods", an_object("a"))
    assert int(second["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1
    gone = store.remove("/pods", "n", "a")
    assert int(gone["metadata"]["resourceVersion"]) == store.revision
    assert store.get("/pods", "n", "a") is None


def test_the_label_index_follows_every_change() -> None:
    store = Store()
    store.put("/pods", an_object("a", labels={"job": "x"}))
    store.put("/pods", an_object("b", "m", labels={"job": "x"}))
    assert names(store.entries("/pods", "", ("job", "x"))) == ["b", "a"], "in the order of namespace and name"
    assert names(store.entries("/pods", "n", ("job", "x"))) == ["a"]
    store.put("/pods", an_object("a", labels={"job": "y"}))
    store.remove("/pods", "m", "b")
    assert store.entries("/pods", "", ("job", "x")) == []


def test_dependents_are_found_by_their_owner() -> None:
    store = Store()
    store.put("/pods", an_object("a", ownerReferences=[{"uid": "u"}]))
    assert [obj["metadata"]["name"] for _, obj in store.owned_by("u")] == ["a"]
    store.put("/pods", an_object("a"))
    assert store.owned_by("u") == []


def test_a_list_as_it_was() -> None:
    store = Store()
    store.put("/pods", an_object("a"))
    store.put("/pods", an_object("b"))
    then = store.revision
    store.remove("/pods", "n", "a")
    store.put("/pods", an_object("c"))
    assert names(store.entries_at("/pods", "n", then)) == ["a", "b"]
    assert names(store.entries("/pods", "n")) == ["b", "c"]
    store.forget()
    assert store.entries_at("/pods", "n", then) is None


def test_what_a_watcher_with_a_selector_sees() -> None:
    store = Store()
    start = store.revision

    def wanted(obj: Json) -> bool:
        return (obj["metadata"].get("labels") or {}).get("on") == "1"

    store.put("/pods", an_object("a"))
    store.put("/pods", an_object("a", labels={"on": "1"}))
    store.put("/pods", an_object("a", labels={"on": "1", "x": "y"}))
    store.put("/pods", an_object("a"))
    store.remove("/pods", "n", "a")
    seen = [as_seen(event, wanted) for event in store.history("/pods").after(start)]
    assert seen == [None, "ADDED", "MODIFIED", "DELETED", None]


def test_history_is_bounded() -> None:
    store = Store(history=100)
    for _ in range(1000):
        store.put("/pods", an_object("a"))
    kept = store.history("/pods").after(0)
    assert 100 <= len(kept) <= 125
    assert store.history("/pods").oldest == kept[0].revision - 1
