"""What the gateway needs beside the log."""

from __future__ import annotations

from typing import Protocol

from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.views import ConversionPage, ConversionView, JobPage, JobView, ModelPage
from trainyard.job_api.core.pages import JobFilter


class Reads(Protocol):
    """The read model; lags the log by milliseconds."""

    def job(self, job_id: str) -> JobView | None: ...

    def jobs(self, wanted: JobFilter) -> JobPage: ...

    def conversion(self, conversion_id: str) -> ConversionView | None: ...

    def conversions(self, *, job_id: str | None, before: int | None, limit: int) -> ConversionPage: ...

    def models(self) -> ModelPage: ...


class Workdirs(Protocol):
    def check(self, spec: JobSpec) -> None:
        """Raises InvalidInput when the job's files are not there."""
        ...


class Changes(Protocol):
    """Tells a stream when its entity has moved."""

    async def wait(self, entity_id: str, seen: int, timeout: float) -> bool:
        """True once something after sequence `seen` was appended to the entity; False after `timeout` seconds."""
        ...
