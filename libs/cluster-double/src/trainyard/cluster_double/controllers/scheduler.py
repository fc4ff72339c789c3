"""The scheduler: gives every pending pod a node, or says why it has none.

Pods that ask for the same are tried as one: when the first of them does not fit, the others do not either, so ten thousand
waiting pods cost as much as the few kinds of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from trainyard.cluster_double.api import delete, pods
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions
from trainyard.cluster_double.controllers.notes import note
from trainyard.cluster_double.controllers.queue import Controller, Key
from trainyard.cluster_double.core.objects import (
    Json,
    condition,
    is_deleting,
    labels_of,
    meta,
    name_of,
    namespace_of,
    spec_of,
    stamp,
    status_of,
    uid_of,
    with_condition,
    with_status,
)
from trainyard.cluster_double.core.scheduling.filters import Room
from trainyard.cluster_double.core.scheduling.place import Placement, place
from trainyard.cluster_double.core.usage import is_running
from trainyard.cluster_double.store.events import Event

NAME = "default-scheduler"
_ALL: Key = ("", "")


class Scheduler:
    """Keeps what every node has left, and who waits, by what they ask for."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._rooms: dict[str, Room] = {}
        self._where: dict[str, str] = {}
        """uid of a placed pod → node"""
        self._waiting: dict[str, dict[str, Key]] = {}
        """what is asked for → uid → pod"""
        self._asks: dict[str, str] = {}
        """uid of a waiting pod → what it asks for"""
        self._fresh: set[str] = set()
        """uids that were never tried"""
        self._gated: set[Key] = set()

    def controller(self) -> Controller:
        return Controller("scheduler", self._changed, lambda _: self._schedule(), settle=0.0)

    def _changed(self, storage: str, event: Event) -> Iterable[Key]:
        if storage == "/nodes":
            self._node(event)
            return (_ALL,)
        if storage == "/pods" and self._pod(event):
            return (_ALL,)
        return ()

    def _node(self, event: Event) -> None:
        name = name_of(event.obj)
        if event.kind == "DELETED":
            self._rooms.pop(name, None)
            return
        room = self._rooms.get(name)
        if room is not None:
            room.node = event.obj
            return
        room = self._rooms[name] = Room(event.obj)
        for pod in self._cluster.store.entries("/pods"):
            if spec_of(pod).get("nodeName") == name and is_running(pod):
                room.add(uid_of(pod), pod)
                self._where[uid_of(pod)] = name

    def _pod(self, event: Event) -> bool:
        """Keeps the books; says whether somebody may fit now."""
        pod, uid = event.obj, uid_of(event.obj)
        node = spec_of(pod).get("nodeName")
        here = event.kind != "DELETED" and is_running(pod)
        if node:
            self._forget(uid)
            if here and self._where.get(uid) != node:
                self._where[uid] = node
                if node in self._rooms:
                    self._rooms[node].add(uid, pod)
                return False
            if here and node in self._rooms and uid in self._rooms[node].pods:
                self._rooms[node].pods[uid] = pod
            if not here and uid in self._where:
                del self._where[uid]
                if node in self._rooms:
                    self._rooms[node].take(uid)
                return True
            return False
        if not here or is_deleting(pod):
            self._forget(uid)
            return False
        return self._wait(uid, pod)

    def _wait(self, uid: str, pod: Json) -> bool:
        spec = spec_of(pod)
        if spec.get("schedulerName") != NAME:
            return False
        if spec.get("schedulingGates"):
            self._gated.add((namespace_of(pod), name_of(pod)))
            return condition(pod, "PodScheduled") is None
        asks = _asks(pod)
        if self._asks.get(uid) == asks:
            return False
        self._forget(uid)
        self._asks[uid] = asks
        self._waiting.setdefault(asks, {})[uid] = (namespace_of(pod), name_of(pod))
        self._fresh.add(uid)
        return True

    def _forget(self, uid: str) -> None:
        asks = self._asks.pop(uid, None)
        self._fresh.discard(uid)
        if asks is not None:
            self._waiting[asks].pop(uid, None)
            if not self._waiting[asks]:
                del self._waiting[asks]

    def _schedule(self) -> None:
        self._gate()
        for asks in sorted(self._waiting, key=self._order):
            while self._waiting.get(asks):
                uid, key = next(iter(self._waiting[asks].items()))
                pod = self._cluster.store.get("/pods", *key)
                if pod is None or uid_of(pod) != uid:
                    self._forget(uid)
                    continue
                placement = place(pod, self._rooms)
                if not placement.node:
                    self._refuse(asks, placement)
                    break
                self._bind(pod, placement.node)

    def _order(self, asks: str) -> tuple[int, str]:
        priority, _, _ = asks.partition(" ")
        _, key = next(iter(self._waiting[asks].items()))
        return -int(priority), "/".join(key)

    def _bind(self, pod: Json, node: str) -> None:
        key = (namespace_of(pod), name_of(pod))
        body = {"metadata": {"name": key[1]}, "target": {"kind": "Node", "name": node}}
        pods.bind(self._cluster, *key, body)
        note(self._cluster, pod, "Normal", "Scheduled", f"Successfully assigned {key[0]}/{key[1]} to {node}", NAME)

    def _refuse(self, asks: str, placement: Placement) -> None:
        """Tells those who have not heard it yet."""
        first = True
        for uid, key in list(self._waiting[asks].items()):
            fresh = uid in self._fresh
            if not (first or fresh):
                continue
            pod = self._cluster.store.get("/pods", *key)
            if pod is not None:
                self._tell(pod, placement, nominated=placement.nominated if first else "", event=fresh)
            self._fresh.discard(uid)
            first = False
        for victim in placement.victims:
            self._push_out(victim, asks)

    def _tell(self, pod: Json, placement: Placement, *, nominated: str, event: bool) -> None:
        told = {
            "type": "PodScheduled",
            "observedGeneration": meta(pod).get("generation"),
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": stamp(self._cluster.clock.now()),
            "reason": "Unschedulable",
            "message": placement.message,
        }
        status = {**status_of(pod), "conditions": with_condition(status_of(pod).get("conditions") or [], told)}
        if nominated:
            status["nominatedNodeName"] = nominated
        if status != status_of(pod):
            self._cluster.store.put("/pods", with_status(pod, status))
        if event:
            note(self._cluster, pod, "Warning", "FailedScheduling", placement.message, NAME)

    def _push_out(self, victim: Json, asks: str) -> None:
        uid = next(iter(self._waiting.get(asks) or {"": ("", "")}))
        message = f"{NAME}: preempting to accommodate a higher priority pod"
        pods.disrupt(self._cluster, victim, "PreemptionByScheduler", message)
        node = spec_of(victim).get("nodeName")
        note(self._cluster, victim, "Normal", "Preempted", f"Preempted by pod {uid} on node {node}", NAME)
        resource = self._cluster.registry.named("pods")
        delete.delete(self._cluster, resource, namespace_of(victim), name_of(victim), DeleteOptions())

    def _gate(self) -> None:
        """Pods behind a gate are told so once."""
        gated, self._gated = self._gated, set()
        for key in gated:
            pod = self._cluster.store.get("/pods", *key)
            if pod is not None and condition(pod, "PodScheduled") is None:
                told = {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": stamp(self._cluster.clock.now()),
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
                conditions = with_condition(status_of(pod).get("conditions") or [], told)
                self._cluster.store.put("/pods", with_status(pod, {**status_of(pod), "conditions": conditions}))


def _asks(pod: Json) -> str:
    """Everything about a pod that decides where it may go, priority first."""
    spec = spec_of(pod)
    parts = {
        name: spec.get(name) for name in ("nodeSelector", "affinity", "tolerations", "overhead", "preemptionPolicy")
    }
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    parts["requests"] = [(one.get("resources") or {}).get("requests") for one in every]
    near = spec.get("affinity") or {}
    who = [namespace_of(pod), labels_of(pod)] if near.keys() & {"podAffinity", "podAntiAffinity"} else []
    return f"{spec.get('priority', 0)} {json.dumps([parts, who], sort_keys=True)}"
