"""The life of one pod on a node: as its script says, until it has ended or is deleted."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trainyard.cluster_double.core.objects import (
    Json,
    is_deleting,
    meta,
    name_of,
    namespace_of,
    stamp,
    status_of,
    uid_of,
)
from trainyard.cluster_double.kubelet import status as statuses
from trainyard.cluster_double.kubelet.client import STRATEGIC, Client, Refused
from trainyard.cluster_double.kubelet.logs import Logs, Output
from trainyard.cluster_double.kubelet.nodes import Node
from trainyard.cluster_double.kubelet.script import KILLED, Runner, Script
from trainyard.cluster_double.kubelet.status import Life


class PodRun:
    def __init__(self, pod: Json, node: Node, client: Client, logs: Logs, plan: Callable[[Json], Script]) -> None:
        self.pod = pod
        self._node = node
        self._client = client
        self._logs = logs
        self._plan = plan
        self._deleted = asyncio.Event()
        self._told: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._life = Life(address="127.0.0.1", began=time.time())

    @property
    def place(self) -> tuple[str, str]:
        return namespace_of(self.pod), name_of(self.pod)

    @property
    def node(self) -> str:
        return self._node.spec.name

    async def doubt(self) -> None:
        """What the control plane writes into a pod whose node is lost."""
        told = {"type": "Ready", "status": "False", "lastTransitionTime": stamp(time.time())}
        with contextlib.suppress(Refused):  # the pod is gone
            await self._write({"conditions": [told]})

    def saw(self, pod: Json) -> None:
        self.pod = pod
        if is_deleting(pod):
            self._deleted.set()

    def tell(self, code: int, evicted: str = "") -> None:
        """Ends the container now, with this code; `evicted` says that the kubelet did it, and why."""
        if not self._told.done():
            self._told.set_result((code, evicted))

    async def live(self) -> None:
        """Returns when nothing is left to do for this pod."""
        try:
            self.saw(self.pod)
            if status_of(self.pod).get("phase") not in {"Succeeded", "Failed"}:
                await self._play()
            await self._deleted.wait()
            await self._node.alive.wait()
            await self._remove()
        except Refused as refused:
            if refused.code not in {404, 409}:  # gone, or another pod of the same name
                raise

    async def _play(self) -> None:
        while True:
            script = self._plan(self.pod)
            if script.waiting or script.pull_seconds:
                await self._report(statuses.waiting(self.pod, self._life, script.waiting or "ContainerCreating"))
                await self._sleep(None if script.waiting else script.pull_seconds)
                if self._deleted.is_set():
                    return await self._end(script, KILLED)
            code, script = await self._run(script)
            if self._deleted.is_set() or script.evicted or not statuses.restarts_after(self.pod, code):
                return await self._end(script, code)
            last = statuses.terminated(self._life, script, code, time.time())
            self._life = replace(self._life, restarts=self._life.restarts + 1, last=last)
            self._told = asyncio.get_running_loop().create_future()
            await self._report(statuses.waiting(self.pod, self._life, "CrashLoopBackOff"))
            await self._sleep(script.restart_seconds)

    async def _run(self, script: Script) -> tuple[int, Script]:
        """(how the container ended, its script, which tells also of an end that came from outside)."""
        output = self._logs.open(self.place)
        self._life = replace(self._life, started=time.time())
        # A container that ends at once is reported once, as it ended.
        if script.run_seconds != 0 or script.really is not None:
            await self._report(statuses.running(self.pod, self._life))
        if script.really is not None:
            return await self._run_really(script.really, output, script)
        speaking = asyncio.create_task(_speak(output, script))
        try:
            await self._sleep(script.run_seconds)
            if self._told.done():
                code, evicted = self._told.result()
                return code, replace(script, evicted=evicted)
            if self._deleted.is_set():
                return await self._stop(script), script
            await speaking
            return script.exit_code, script
        finally:
            speaking.cancel()
            output.close()

    async def _run_really(self, runner: Runner, output: Output, script: Script) -> tuple[int, Script]:
        try:
            code, message = await runner.run(
                self.pod, self._client, lambda text: output.write(text, time.time()), self._deleted
            )
            return code, replace(script, message=message)
        finally:
            output.close()

    async def _stop(self, script: Script) -> int:
        """SIGTERM, and SIGKILL after the grace period."""
        grace = float(meta(self.pod).get("deletionGracePeriodSeconds") or 0)
        if script.stop_seconds is None or script.stop_seconds > grace:
            await asyncio.sleep(grace)
            return KILLED
        await asyncio.sleep(script.stop_seconds)
        return script.stop_code

    async def _end(self, script: Script, code: int) -> None:
        await self._report(statuses.ended(self.pod, self._life, script, code, time.time()))

    async def _sleep(self, seconds: float | None) -> None:
        """Until the time is up, the test says so, or the pod is deleted. Time stands still on a lost node."""
        deleted = asyncio.create_task(self._deleted.wait())
        awaited: set[asyncio.Future[Any]] = {deleted, self._told}
        try:
            await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            deleted.cancel()
        await self._node.alive.wait()

    async def _report(self, status: Json) -> None:
        await self._node.alive.wait()
        await self._write(status)

    async def _write(self, status: Json) -> None:
        namespace, name = self.place
        body = {"metadata": {"uid": uid_of(self.pod)}, "status": status}
        await self._client.request("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", body, STRATEGIC)

    async def _remove(self) -> None:
        namespace, name = self.place
        body: Json = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid_of(self.pod)}}
        await self._client.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", body)


async def _speak(output: Output, script: Script) -> None:
    """Writes the lines at their times."""
    began = time.time()
    for line in sorted(script.lines, key=lambda line: line.after):
        left = began + line.after - time.time()
        if left > 0:
            await asyncio.sleep(left)
        output.write(line.text, time.time())
