"""What the converter does with events: a job that succeeded asks for its conversion, a request is carried out once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from trainyard.common import ids
from trainyard.common.bus.port import EventLog
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.event import Event
from trainyard.common.contract.events import (
    ConversionFailed,
    ConversionProgress,
    ConversionRequested,
    ConversionSucceeded,
    JobSucceeded,
)
from trainyard.common.errors import StaleSequence
from trainyard.common.runtime.tracing import span
from trainyard.converter.adapters import repository
from trainyard.converter.conversion import Proven, convert
from trainyard.converter.preparation import ConversionFault, Tools

log = structlog.get_logger()

LAST_ATTEMPT = 5
"""Of a conversion that the machine keeps from ending. Below the deliveries of a subscription (6), so that the one who waits
reads a failure and not a dead letter."""


@dataclass(frozen=True, slots=True)
class Converter:
    log: EventLog
    tools: Tools


async def on_job_succeeded(converter: Converter, recorded: Recorded[JobSucceeded]) -> None:
    """The job's `convert:` block becomes a request. Its id follows from the job's, so it is made once."""
    event = recorded.event
    if event.outputs is None:  # nothing was written, so there is nothing to convert
        return
    history = {item.event.kind: item.event for item in await converter.log.latest("job", event.job_id)}
    resolved: Any = history["resolved"]
    block = resolved.spec.convert
    if block is None:
        return
    request = ConversionRequested(
        conversion_id=ids.derived("conversion", event.job_id),
        job_id=event.job_id,
        owner=resolved.owner,
        spec=ConversionSpec(
            framework=resolved.spec.framework.name,
            image=resolved.resolution.image,
            workdir=resolved.spec.workdir or event.outputs,
            artifacts=event.outputs,
            convert=block.model_copy(update={"name": block.name or resolved.spec.name}),
        ),
    )
    try:
        await converter.log.append(request, after=0)
    except StaleSequence:
        log.debug("the conversion was requested before", job_id=event.job_id)


async def on_requested(converter: Converter, recorded: Recorded[ConversionRequested]) -> None:
    """The conversion, to its end. Delivered again after a crash it begins anew; ended, it is left alone."""
    request = recorded.event
    writer = await _Writer.open(converter.log, request)
    if writer.ended:
        return
    with span("conversion", conversion_id=request.conversion_id):
        await writer.append(await _outcome(converter, request, writer))


async def _outcome(
    converter: Converter, request: ConversionRequested, writer: _Writer
) -> ConversionSucceeded | ConversionFailed:
    """How the conversion ended. Raises for passing trouble while there are attempts left: a conversion always ends."""
    try:
        proven = await convert(request, converter.tools, writer.tell)
        if proven.config is not None:
            await asyncio.to_thread(_publish, converter.tools, proven, request)
    except ConversionFault as error:
        return _failed(request, error.reason, str(error), error.report)
    except StaleSequence:  # another converter has taken it over
        raise
    except Exception as error:
        if writer.attempt < LAST_ATTEMPT:
            raise
        log.exception("the conversion is given up", conversion_id=request.conversion_id)
        return _failed(request, "machine", f"given up after {writer.attempt} attempts: {error}", None)
    return _succeeded(request, converter.tools, proven)


def _publish(tools: Tools, proven: Proven, request: ConversionRequested) -> None:
    """The model as a new version of the repository that `yard serve` and Triton read."""
    if proven.config is not None:
        repository.write(tools.state / "models", proven.config, proven.serves, request.conversion_id)


def _succeeded(request: ConversionRequested, tools: Tools, proven: Proven) -> ConversionSucceeded:
    report, folder = proven.report, proven.folder
    return ConversionSucceeded(
        conversion_id=request.conversion_id,
        job_id=request.job_id,
        name=report.name,
        onnx=str(folder / "model.onnx"),
        targets={item.target: str(folder / item.target) for item in report.targets},
        repository=str(tools.state / "models") if proven.config is not None else None,
        report=str(folder / "report.json"),
        report_html=str(folder / "report.html"),
        max_abs_error=report.max_abs_error,
        batch_sizes=tuple(report.batch_sizes),
        served=report.served.model_dump(mode="json") if report.served else {},
        seconds=report.seconds,
    )


def _failed(request: ConversionRequested, reason: str, message: str, folder: Path | None) -> ConversionFailed:
    return ConversionFailed(
        conversion_id=request.conversion_id,
        job_id=request.job_id,
        reason=reason,
        message=message,
        report=str(folder / "report.json") if folder else None,
    )


class _Writer:
    """Appends the conversion's events one behind the other. A second converter on the same request loses the race and
    leaves it to the first."""

    def __init__(self, log: EventLog, request: ConversionRequested, last: int, attempt: int, ended: bool) -> None:
        self._log = log
        self._request = request
        self._last = last
        self.attempt = attempt
        self._number = 0
        self.ended = ended

    @classmethod
    async def open(cls, log: EventLog, request: ConversionRequested) -> _Writer:
        recorded = await log.latest("conversion", request.conversion_id)
        kinds = {item.event.kind: item.event for item in recorded}
        before = kinds.get("progress")
        attempt = before.attempt + 1 if isinstance(before, ConversionProgress) else 1
        return cls(log, request, recorded[-1].seq, attempt, bool(kinds.keys() & {"succeeded", "failed"}))

    async def tell(self, step: str, message: str, fraction: float) -> None:
        self._number += 1
        await self.append(
            ConversionProgress(
                conversion_id=self._request.conversion_id,
                job_id=self._request.job_id,
                attempt=self.attempt,
                number=self._number,
                step=step,
                message=message,
                fraction=fraction,
            )
        )

    async def append(self, event: Event) -> None:
        self._last = await self._log.append(event, after=self._last)


HANDLERS: dict[type[Event], Callable[[Converter, Recorded[Any]], Awaitable[None]]] = {
    JobSucceeded: on_job_succeeded,
    ConversionRequested: on_requested,
}
