"""The objects of a cluster, in memory, with one revision counter over all of them, as etcd has.

Stored objects are never changed in place: a write puts a new dict in the old one's place, so a list is a snapshot for ever
and costs no copies. Indexes by namespace, label and owner keep the work of one request independent of how much there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from trainyard.cluster_double.core.objects import Json, labels_of, name_of, namespace_of, owners_of, with_meta
from trainyard.cluster_double.store.events import Event, History, Watcher

Place = tuple[str, str]
"""(namespace, name); no namespace for what is the cluster's."""


class Kept:
    """The objects of one kind."""

    def __init__(self, limit: int, since: int) -> None:
        self.objects: dict[str, dict[str, Json]] = defaultdict(dict)
        self.labels: dict[tuple[str, str], set[Place]] = defaultdict(set)
        self.history = History(limit, since)
        self.watchers: set[Watcher] = set()


class Store:
    """`storage` names a kind: `batch/jobs`, `/pods`. Callers check everything; the store only keeps."""

    def __init__(self, history: int = 50_000) -> None:
        self._history = history
        self._kept: dict[str, Kept] = {}
        self._owned: dict[str, set[tuple[str, Place]]] = defaultdict(set)
        self.revision = self._forgotten = 1000
        self.listeners: list[Callable[[str, Event], None]] = []
        """Told of every event of every kind, at once: the controllers."""

    def get(self, storage: str, namespace: str, name: str) -> Json | None:
        return self._of(storage).objects.get(namespace, {}).get(name)

    def entries(self, storage: str, namespace: str = "", label: tuple[str, str] | None = None) -> list[Json]:
        """In the order of their keys; all namespaces when none is named. `label` narrows by the index."""
        kept = self._of(storage)
        if label is not None:
            places = sorted(place for place in kept.labels.get(label, ()) if not namespace or place[0] == namespace)
            return [kept.objects[its_namespace][name] for its_namespace, name in places]
        spaces = [namespace] if namespace else sorted(kept.objects)
        return [obj for space in spaces for _, obj in sorted(kept.objects.get(space, {}).items())]

    def count(self, storage: str, namespace: str) -> int:
        return len(self._of(storage).objects.get(namespace, {}))

    def owned_by(self, uid: str) -> list[tuple[str, Json]]:
        """(storage, object) of everything that names this owner."""
        found = []
        for storage, (namespace, name) in sorted(self._owned.get(uid, ())):
            obj = self.get(storage, namespace, name)
            if obj is not None:
                found.append((storage, obj))
        return found

    def put(self, storage: str, obj: Json) -> Json:
        """Creates or replaces; answers with the object at its new revision."""
        kept = self._of(storage)
        self.revision += 1
        new = with_meta(obj, resourceVersion=str(self.revision))
        space = kept.objects[namespace_of(new)]
        old = space.get(name_of(new))
        space[name_of(new)] = new
        self._index(storage, kept, old, new)
        self._tell(storage, kept, Event(self.revision, "ADDED" if old is None else "MODIFIED", new, old))
        return new

    def remove(self, storage: str, namespace: str, name: str) -> Json:
        """Answers with the object as it was last, at the revision of its removal. Raises KeyError."""
        kept = self._of(storage)
        old = kept.objects[namespace].pop(name)
        self.revision += 1
        last = with_meta(old, resourceVersion=str(self.revision))
        self._index(storage, kept, old, None)
        self._tell(storage, kept, Event(self.revision, "DELETED", last, old))
        return last

    def storages(self) -> list[str]:
        return list(self._kept)

    def entries_at(self, storage: str, namespace: str, revision: int) -> list[Json] | None:
        """The list as it was at a past revision: today's, with what happened since undone. None when that is forgotten."""
        history = self._of(storage).history
        if revision < history.oldest:
            return None
        then = {(namespace_of(obj), name_of(obj)): obj for obj in self.entries(storage, namespace)}
        for event in reversed(history.after(revision)):
            place = (namespace_of(event.obj), name_of(event.obj))
            if namespace and place[0] != namespace:
                continue
            if event.before is None:
                then.pop(place, None)
            else:
                then[place] = event.before
        return [obj for _, obj in sorted(then.items(), key=lambda pair: pair[0])]

    def history(self, storage: str) -> History:
        return self._of(storage).history

    def forget(self) -> None:
        """Drops all history, as a compaction does: whoever watches from before now gets 410."""
        self._forgotten = self.revision
        for kept in self._kept.values():
            kept.history.forget(self.revision)

    def watch(self, storage: str) -> Watcher:
        watcher = Watcher()
        self._of(storage).watchers.add(watcher)
        return watcher

    def unwatch(self, storage: str, watcher: Watcher) -> None:
        self._of(storage).watchers.discard(watcher)

    def _of(self, storage: str) -> Kept:
        kept = self._kept.get(storage)
        if kept is None:
            kept = self._kept[storage] = Kept(self._history, self._forgotten)
        return kept

    def _tell(self, storage: str, kept: Kept, event: Event) -> None:
        kept.history.append(event)
        for watcher in kept.watchers:
            watcher.put(event)
        for listener in self.listeners:
            listener(storage, event)

    def _index(self, storage: str, kept: Kept, old: Json | None, new: Json | None) -> None:
        place = (namespace_of(old or new or {}), name_of(old or new or {}))
        before = labels_of(old).items() if old is not None else ()
        after = labels_of(new).items() if new is not None else ()
        if before != after:
            for label in before:
                kept.labels[label].discard(place)
                if not kept.labels[label]:
                    del kept.labels[label]
            for label in after:
                kept.labels[label].add(place)
        mine = (storage, place)
        owners = {owner["uid"] for owner in owners_of(new)} if new is not None else set()
        for uid in {owner["uid"] for owner in owners_of(old)} - owners if old is not None else ():
            self._owned[uid].discard(mine)
            if not self._owned[uid]:
                del self._owned[uid]
        for uid in owners:
            self._owned[uid].add(mine)
