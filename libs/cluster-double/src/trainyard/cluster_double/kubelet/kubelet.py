"""The scripted kubelet: some nodes, and the pods that are bound to them, in a thread of its own.

    with ScriptedKubelet(kubeconfig, [NodeSpec("node-0")]) as kubelet:
        kubelet.plan(run(2.0, exit_code=1), name="job-0-*")

It is a client of the API like any other, so it works on the double and on a real control plane without kubelets.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from trainyard.cluster_double.core.objects import Json, name_of, namespace_of, spec_of, uid_of
from trainyard.cluster_double.kubelet.client import Client
from trainyard.cluster_double.kubelet.logs import Logs, Output
from trainyard.cluster_double.kubelet.nodes import Node, NodeSpec
from trainyard.cluster_double.kubelet.nodes import ready as told_ready
from trainyard.cluster_double.kubelet.pods import PodRun
from trainyard.cluster_double.kubelet.script import Rule, Script, run
from trainyard.cluster_double.threads import LoopThread


class ScriptedKubelet:
    def __init__(self, kubeconfig: Path, nodes: Sequence[NodeSpec] = (NodeSpec("node-0"),)) -> None:
        self._kubeconfig = kubeconfig
        self._specs = nodes
        self._rules: list[Rule] = []
        self._runs: dict[str, tuple[PodRun, asyncio.Task[None]]] = {}
        self._nodes: dict[str, Node] = {}
        self._logs = Logs()
        self._thread = LoopThread("scripted-kubelet", self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()

    def plan(
        self, script: Script | Callable[[Json], Script], *, name: str = "*", labels: Mapping[str, str] | None = None
    ) -> None:
        """Pods of this name (a pattern) and these labels play the script; the rule that came last wins."""
        self._rules.insert(0, Rule(script, name, labels or {}))

    def finish(self, namespace: str, name: str, exit_code: int = 0) -> None:
        """Ends a pod's containers now."""
        self._thread.call(lambda: self._of(namespace, name).tell(exit_code))

    def push_out(self, namespace: str, name: str, why: str = "The node was low on resource: memory.") -> None:
        """Evicts a pod as under pressure: Failed, with reason Evicted and DisruptionTarget."""
        self._thread.call(lambda: self._of(namespace, name).tell(137, why))

    def write(self, namespace: str, name: str, text: str) -> None:
        """Adds a line to the pod's log."""
        self._thread.call(lambda: self._output(namespace, name).write(text, time.time()))

    def rotate(self, namespace: str, name: str, keep: int = 0) -> None:
        """The log's older lines are gone, as after a rotation."""
        self._thread.call(lambda: self._output(namespace, name).rotate(keep))

    def lose(self, node: str) -> None:
        """The node falls silent, and is marked as a control plane marks it once its grace period is over."""
        found = self._nodes[node]
        self._thread.call(found.alive.clear)
        told = told_ready("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        self._thread.wait(found.report({"conditions": [told]}))
        for pod_run, _ in list(self._runs.values()):
            if pod_run.node == node:
                self._thread.wait(pod_run.doubt())

    def unready(self, node: str, why: str = "container runtime is down") -> None:
        self._thread.wait(self._nodes[node].report({"conditions": [told_ready("False", "KubeletNotReady", why)]}))

    def recover(self, node: str) -> None:
        """A lost or unready node is well again; its pods go on."""
        found = self._nodes[node]
        self._thread.wait(
            found.report({"conditions": [told_ready("True", "KubeletReady", "kubelet is posting ready status")]})
        )
        self._thread.call(found.alive.set)

    def _of(self, namespace: str, name: str) -> PodRun:
        for pod_run, _ in self._runs.values():
            if pod_run.place == (namespace, name):
                return pod_run
        raise LookupError(f"no pod {namespace}/{name} runs on the scripted nodes")

    def _output(self, namespace: str, name: str) -> Output:
        found = self._logs.current((namespace, name))
        if found is None:
            raise LookupError(f"pod {namespace}/{name} has not started, so it has no log")
        return found

    def _script(self, pod: Json) -> Script:
        return next((rule.of(pod) for rule in self._rules if rule.takes(pod)), run())

    async def _serve(self, ready: Callable[[], None], stop: asyncio.Event) -> None:
        await self._logs.start()
        async with Client(self._kubeconfig) as client:
            self._nodes = {spec.name: Node(spec, client) for spec in self._specs}
            for node in self._nodes.values():
                await node.join(self._logs.port)
            tasks = [asyncio.create_task(node.renew()) for node in self._nodes.values()]
            tasks.append(asyncio.create_task(self._follow(client)))
            ready()
            await stop.wait()
            tasks += [task for _, task in self._runs.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5):
                    for node in self._nodes.values():
                        await node.leave()
        await self._logs.stop()

    async def _follow(self, client: Client) -> None:
        async for kind, found in client.watch("/api/v1/pods"):
            if kind == "LIST":
                present = found.get("items") or []
                for uid in self._runs.keys() - {uid_of(pod) for pod in present}:
                    self._forget(uid)
                for pod in present:
                    self._saw(pod, client)
            elif kind == "DELETED":
                self._forget(uid_of(found))
            else:
                self._saw(found, client)

    def _forget(self, uid: str) -> None:
        known = self._runs.pop(uid, None)
        if known is not None:
            known[1].cancel()

    def _saw(self, pod: Json, client: Client) -> None:
        known, node = self._runs.get(uid_of(pod)), spec_of(pod).get("nodeName")
        if known is not None:
            known[0].saw(pod)
        elif node in self._nodes:
            pod_run = PodRun(pod, self._nodes[node], client, self._logs, self._script)
            task = asyncio.create_task(pod_run.live(), name=f"{namespace_of(pod)}/{name_of(pod)}")
            self._runs[uid_of(pod)] = pod_run, task
