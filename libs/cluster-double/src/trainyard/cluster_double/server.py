"""The double as a whole: a server on a loopback port in a thread of its own, with its controllers.

    with ClusterDouble() as double:
        client = kubernetes.config.new_client_from_config(str(double.kubeconfig(tmp_path)))

Everything of the cluster happens in that thread's event loop; `double.faults` and `double.journal` may be used from any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from aiohttp import web

from trainyard.cluster_double import closing
from trainyard.cluster_double.api.cluster import Cluster, Settings
from trainyard.cluster_double.controllers.table import Controllers
from trainyard.cluster_double.core.clock import Clock, SystemClock
from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.http.application import Application
from trainyard.cluster_double.http.faults import Faults
from trainyard.cluster_double.http.journal import Journal
from trainyard.cluster_double.threads import LoopThread

__all__ = ["ClusterDouble", "Settings", "kubeconfig"]


class ClusterDouble:
    """A Kubernetes API server for tests. Start and stop it as a context manager, or with `start` and `stop`."""

    def __init__(self, settings: Settings | None = None, *, port: int = 0, clock: Clock | None = None) -> None:
        self.cluster = Cluster(settings or Settings(), clock or SystemClock())
        self.faults = Faults()
        self.journal = Journal()
        self._application = Application(self.cluster, self.faults, self.journal)
        self._wanted_port = port
        self.port = port
        self._thread = LoopThread("cluster-double", self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Raises OSError where the port is taken."""
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop()

    def call(self, act: Callable[[], Any]) -> Any:
        """Does something with `cluster` in the server's thread, and answers with what it gives."""
        return self._thread.call(act)

    def kubeconfig(self, folder: Path) -> Path:
        """Writes a kubeconfig that reaches this server, and answers with its path."""
        path = folder / "kubeconfig"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(kubeconfig(self.url)))
        return path

    async def _serve(self, ready: Callable[[], None], stop: asyncio.Event) -> None:
        self.faults.on_cut = lambda: self._thread.soon(self._application.cut_watches)
        self.faults.on_forget = lambda: self.call(self.cluster.store.forget)
        runner = web.AppRunner(self._application.build(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", self._wanted_port)
            await site.start()
            self.port = runner.addresses[0][1]
            async with Controllers(self.cluster):
                ready()
                await stop.wait()
        finally:
            await closing.close(runner)


def kubeconfig(url: str) -> Json:
    """The document. The double asks for no credentials; clients that insist on some get a token that means nothing."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "double", "cluster": {"server": url}}],
        "users": [{"name": "tester", "user": {"token": "double"}}],
        "contexts": [{"name": "double", "context": {"cluster": "double", "user": "tester"}}],
        "current-context": "double",
    }
