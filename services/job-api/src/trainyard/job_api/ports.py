"""What the gateway needs beside the log."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from trainyard.common.contract.inventory import Node
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.templates import StoredTemplate
from trainyard.common.contract.views import (
    ConversionPage,
    ConversionView,
    JobPage,
    JobView,
    ModelPage,
    SourcesView,
    SourceView,
)
from trainyard.job_api.core.pages import JobFilter


class Reads(Protocol):
    """The read model; lags the log by milliseconds."""

    def job(self, job_id: str) -> JobView | None: ...

    def jobs(self, wanted: JobFilter) -> JobPage: ...

    def conversion(self, conversion_id: str) -> ConversionView | None: ...

    def conversions(self, *, job_id: str | None, before: int | None, limit: int) -> ConversionPage: ...

    def models(self) -> ModelPage: ...


class Workdirs(Protocol):
    @property
    def terms(self) -> SourcesView: ...

    async def settle(self, spec: JobSpec) -> JobSpec:
        """The job as it will run, its folder sent where it has to be. Raises InvalidInput when the files are not there."""
        ...

    async def take(self, archive: bytes) -> SourceView:
        """Keep a folder for a job to come. Raises InvalidInput."""
        ...


class Watch(Protocol):
    async def wait(self, seen: int, timeout: float) -> bool:
        """True once something after sequence `seen` was appended to the entity, also if that was before this call but
        after the watch began; False after `timeout` seconds."""
        ...


class Changes(Protocol):
    """Tells a stream when its entity has moved."""

    def watch(self, entity_id: str) -> AbstractContextManager[Watch]:
        """Begin it before reading, or what comes in between is missed."""
        ...


class Templates(Protocol):
    async def all(self) -> list[StoredTemplate]:
        """What ships with Trainyard, then what was published."""
        ...

    async def add(self, template: StoredTemplate) -> None:
        """Raises Conflict when this version is there already."""
        ...

    async def remove(self, name: str, version: str) -> None:
        """Raises NotFound."""
        ...


class Nodes(Protocol):
    async def all(self, now: float) -> list[Node]:
        """Every node that has not expired at `now` (Unix seconds), by backend and name."""
        ...
