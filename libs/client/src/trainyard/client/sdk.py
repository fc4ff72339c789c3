"""The Python SDK. `Yard` blocks, `AsyncYard` awaits; both send the calls of `calls` and raise the errors of
`trainyard.common.errors`.

    from trainyard.client import Yard

    with Yard() as yard:
        job = yard.submit({"name": "hello", "framework": "generic", "command": "echo hello"})
        print(yard.wait(job.job_id).state)
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self, TypeVar

import anyio
import httpx
from pydantic import BaseModel

from trainyard.client import calls, sources, streams
from trainyard.client.answers import read, unreachable
from trainyard.client.calls import Call, Document
from trainyard.client.settings import ClientSettings
from trainyard.common import ids
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.views import (
    ConversionView,
    EventPage,
    EventView,
    ExplanationView,
    JobPage,
    JobView,
    MatrixView,
    ModelPage,
    NodePage,
    RenderedView,
    TemplatePage,
    TemplateView,
)
from trainyard.common.errors import NotFound, Unavailable
from trainyard.common.sources.packing import pack

V = TypeVar("V", bound=BaseModel)
_FIRST_DELAY, _LAST_DELAY = 0.05, 1.0  # seconds between two looks of `wait`


class Yard:
    """A connection to a gateway. Close it, or use it in a `with`."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.settings = ClientSettings.read(url, token)
        self.http = httpx.Client(
            base_url=self.settings.url, headers=self.settings.headers, timeout=self.settings.timeout, trust_env=False
        )

    def send(self, call: Call[V]) -> V:
        try:
            response = self.http.request(**call.request())
        except httpx.TransportError as error:
            raise unreachable(self.settings.url, error) from error
        return read(response, call.answer)

    def submit(self, document: Document, *, key: str | None = None) -> JobView:
        """A folder in `workdir` is sent along where jobs run on other machines."""
        return self.send(calls.submit(self._with_source(document), key=key))

    def _with_source(self, document: Document) -> Document:
        folder = sources.folder_of(document)
        if folder is None or not sources.must_be_sent(self.send(calls.sources())):
            return document
        return {**document, "source": self.send(calls.send_source(pack(folder))).source}

    def job(self, job_id: str) -> JobView:
        return self.send(calls.job(job_id))

    def jobs(self, **filters: Any) -> JobPage:
        return self.send(calls.jobs(**filters))

    def cancel(self, job_id: str, message: str = "") -> JobView:
        return self.send(calls.cancel(job_id, message))

    def suspend(self, job_id: str, message: str = "") -> JobView:
        """Ends the job's processes for now; `resume` lets it go on from its checkpoint."""
        return self.send(calls.suspend(job_id, message))

    def resume(self, job_id: str, message: str = "") -> JobView:
        return self.send(calls.resume(job_id, message))

    def resize(self, job_id: str, replicas: int, role: str | None = None, message: str = "") -> JobView:
        """Another number of replicas; the job goes on from its checkpoint."""
        return self.send(calls.resize(job_id, replicas, role, message))

    def retry(self, job_id: str, *, key: str | None = None) -> JobView:
        """A new job with the spec of one that has ended, at the size that it was to have by then."""
        return self.send(calls.retry(job_id, key=key))

    def events(self, job_id: str, *, after: int = 0) -> EventPage:
        return self.send(calls.events(job_id, after=after))

    def convert(self, document: Document, *, key: str | None = None) -> ConversionView:
        return self.send(calls.convert(document, key=key))

    def conversion(self, conversion_id: str) -> ConversionView:
        return self.send(calls.conversion(conversion_id))

    def conversion_of(self, job_id: str, timeout: float = 60.0) -> ConversionView:
        """The conversion of a job that has succeeded. The converter asks for it a moment after the job's end, so it is
        waited for, `timeout` seconds at most; then NotFound is raised."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self.send(calls.conversion(ids.derived("conversion", job_id)))
            except NotFound:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_FIRST_DELAY)

    def models(self) -> ModelPage:
        return self.send(calls.models())

    def matrix(self, framework: str | None = None) -> MatrixView:
        return self.send(calls.matrix(framework))

    def explain(self, document: Document, *, anywhere: bool = False) -> ExplanationView:
        """What the matrix would make of a job file, and why. Nothing is submitted. `anywhere`: whatever nodes this yard
        has."""
        return self.send(calls.explain(document, anywhere=anywhere))

    def nodes(self) -> NodePage:
        """The machines that jobs may run on."""
        return self.send(calls.nodes())

    def avoid_node(self, name: str, span: str = "6h", message: str = "") -> Node:
        """Let no job begin on a node for a while (`90m`, `2h`, `7d`)."""
        return self.send(calls.avoid_node(name, span, message))

    def forgive_node(self, name: str, message: str = "") -> Node:
        """Let jobs begin on a node again, and forget what it was blamed for."""
        return self.send(calls.forgive_node(name, message))

    def templates(self) -> TemplatePage:
        return self.send(calls.templates())

    def template(self, name: str, version: str | None = None) -> TemplateView:
        return self.send(calls.template(name, version))

    def publish_template(self, document: Document) -> TemplateView:
        return self.send(calls.publish_template(document))

    def delete_template(self, name: str, version: str | None = None) -> TemplatePage:
        return self.send(calls.delete_template(name, version))

    def render_template(
        self, name: str, parameters: Document | None = None, version: str | None = None
    ) -> RenderedView:
        """The job file that comes of these parameters; `submit(rendered.job)` runs it."""
        return self.send(calls.render_template(name, parameters or {}, version))

    def follow_events(self, job_id: str) -> Iterator[EventView]:
        """A job's events as they happen, to its end; survives a restart of the gateway."""
        for event in streams.follow(self.http, f"/v1/jobs/{job_id}/events", {}):
            yield EventView.model_validate_json(event.data)

    def follow_conversion(self, conversion_id: str) -> Iterator[EventView]:
        for event in streams.follow(self.http, f"/v1/conversions/{conversion_id}/events", {}):
            yield EventView.model_validate_json(event.data)

    def follow_logs(self, job_id: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Log lines as they are written: `rank`, `attempt`, `stream`, `time`, `text`."""
        for event in streams.follow(self.http, f"/v1/jobs/{job_id}/logs", {"follow": "true", **params}):
            if event.event == "end":
                return
            yield from json.loads(event.data)

    def wait(self, job_id: str, timeout: float | None = None) -> JobView:
        """The job once it has ended. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        delay = _FIRST_DELAY
        while not (view := self._patient(calls.job(job_id), deadline)).state.terminal:
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"job {job_id} is still {view.state.value} after {timeout} s")
            time.sleep(delay)
            delay = min(delay * 1.5, _LAST_DELAY)
        return view

    def wait_conversion(self, conversion_id: str, timeout: float | None = None) -> ConversionView:
        """The conversion once it has ended. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        delay = _FIRST_DELAY
        while (view := self._patient(calls.conversion(conversion_id), deadline)).ended_at is None:
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"conversion {conversion_id} is still {view.state} after {timeout} s")
            time.sleep(delay)
            delay = min(delay * 1.5, _LAST_DELAY)
        return view

    def _patient(self, call: Call[V], deadline: float | None) -> V:
        """A gateway that restarts is waited for; one that never answers is not."""
        patience = time.monotonic() + streams.PATIENCE
        while True:
            try:
                return self.send(call)
            except Unavailable as error:
                if time.monotonic() > min(patience, deadline or patience):
                    raise
                time.sleep(min(error.delay, _LAST_DELAY))

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncYard:
    """The same for asyncio (and trio)."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.settings = ClientSettings.read(url, token)
        self.http = httpx.AsyncClient(
            base_url=self.settings.url, headers=self.settings.headers, timeout=self.settings.timeout, trust_env=False
        )

    async def send(self, call: Call[V]) -> V:
        try:
            response = await self.http.request(**call.request())
        except httpx.TransportError as error:
            raise unreachable(self.settings.url, error) from error
        return read(response, call.answer)

    async def submit(self, document: Document, *, key: str | None = None) -> JobView:
        """A folder in `workdir` is sent along where jobs run on other machines."""
        return await self.send(calls.submit(await self._with_source(document), key=key))

    async def _with_source(self, document: Document) -> Document:
        folder = await anyio.to_thread.run_sync(sources.folder_of, document)
        if folder is None or not sources.must_be_sent(await self.send(calls.sources())):
            return document
        archive = await anyio.to_thread.run_sync(pack, folder)
        return {**document, "source": (await self.send(calls.send_source(archive))).source}

    async def job(self, job_id: str) -> JobView:
        return await self.send(calls.job(job_id))

    async def jobs(self, **filters: Any) -> JobPage:
        return await self.send(calls.jobs(**filters))

    async def cancel(self, job_id: str, message: str = "") -> JobView:
        return await self.send(calls.cancel(job_id, message))

    async def suspend(self, job_id: str, message: str = "") -> JobView:
        return await self.send(calls.suspend(job_id, message))

    async def resume(self, job_id: str, message: str = "") -> JobView:
        return await self.send(calls.resume(job_id, message))

    async def resize(self, job_id: str, replicas: int, role: str | None = None, message: str = "") -> JobView:
        return await self.send(calls.resize(job_id, replicas, role, message))

    async def retry(self, job_id: str, *, key: str | None = None) -> JobView:
        return await self.send(calls.retry(job_id, key=key))

    async def convert(self, document: Document, *, key: str | None = None) -> ConversionView:
        return await self.send(calls.convert(document, key=key))

    async def conversion(self, conversion_id: str) -> ConversionView:
        return await self.send(calls.conversion(conversion_id))

    async def matrix(self, framework: str | None = None) -> MatrixView:
        return await self.send(calls.matrix(framework))

    async def explain(self, document: Document, *, anywhere: bool = False) -> ExplanationView:
        return await self.send(calls.explain(document, anywhere=anywhere))

    async def nodes(self) -> NodePage:
        return await self.send(calls.nodes())

    async def avoid_node(self, name: str, span: str = "6h", message: str = "") -> Node:
        return await self.send(calls.avoid_node(name, span, message))

    async def forgive_node(self, name: str, message: str = "") -> Node:
        return await self.send(calls.forgive_node(name, message))

    async def templates(self) -> TemplatePage:
        return await self.send(calls.templates())

    async def template(self, name: str, version: str | None = None) -> TemplateView:
        return await self.send(calls.template(name, version))

    async def publish_template(self, document: Document) -> TemplateView:
        return await self.send(calls.publish_template(document))

    async def delete_template(self, name: str, version: str | None = None) -> TemplatePage:
        return await self.send(calls.delete_template(name, version))

    async def render_template(
        self, name: str, parameters: Document | None = None, version: str | None = None
    ) -> RenderedView:
        """The job file that comes of these parameters; `submit(rendered.job)` runs it."""
        return await self.send(calls.render_template(name, parameters or {}, version))

    async def follow_events(self, job_id: str) -> AsyncIterator[EventView]:
        async for event in streams.follow_async(self.http, f"/v1/jobs/{job_id}/events", {}):
            yield EventView.model_validate_json(event.data)

    async def wait(self, job_id: str, timeout: float | None = None) -> JobView:
        """The job once it has ended. Raises TimeoutError after `timeout` seconds."""
        with anyio.fail_after(timeout):
            delay = _FIRST_DELAY
            while not (view := await self.job(job_id)).state.terminal:
                await anyio.sleep(delay)
                delay = min(delay * 1.5, _LAST_DELAY)
            return view

    async def close(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
