"""Building a job's image before the job may queue for room, and telling people how far that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from trainyard.common.contract import events
from trainyard.common.errors import TrainyardError
from trainyard.common.lifecycle.states import State
from trainyard.common.waiting import within
from trainyard.launcher.core.job import Job
from trainyard.launcher.ports import Images
from trainyard.launcher.shepherd import Shepherd

TOLD_EVERY = 0.03  # of an image's bytes
LOOK = 1.0  # seconds between two looks at how far it is
_WAITS = frozenset({State.RESOLVED, State.QUEUED})


class Building:
    def __init__(self, images: Images, writer: Callable[[Job], Shepherd]) -> None:
        """`writer`: who writes down a job's events."""
        self._images = images
        self._writer = writer

    def is_there(self, job: Job) -> bool:
        try:
            return self._images.interpreter(job.image or "host") is not None
        except TrainyardError:  # building it says the same, where it can be told
            return False

    async def build(self, job: Job) -> str | None:
        """None when the image is there; otherwise why it cannot be had."""
        image, over = job.image or "host", asyncio.Event()
        telling = asyncio.create_task(self._tell(job, image, over))
        fault: str | None = None
        try:
            await self._images.build(image)
        except (TrainyardError, OSError) as error:
            fault = str(error)
        except asyncio.CancelledError:
            telling.cancel()
            raise
        # Told to end, not cancelled: a cancel that meets the answer of nats-server is lost in Python 3.11's wait_for.
        over.set()
        await asyncio.gather(telling, return_exceptions=True)
        return fault

    async def _tell(self, job: Job, image: str, over: asyncio.Event) -> None:
        """That the image is being built, and how far that is; so far as the log takes it."""
        writer, told, number = self._writer(job), -1.0, 0
        words = f"image {image} is being built (first use)"
        while writer.job.head.state in _WAITS and not over.is_set():
            fraction = await self._images.fraction(image)
            if number == 0 or (fraction is not None and fraction - told >= TOLD_EVERY):
                event = events.JobQueued(
                    job_id=job.job_id, attempt=job.attempt, message=words, number=number, fraction=fraction
                )
                await writer.tell(event)
                told, number = fraction or 0.0, number + 1
            await within(over, LOOK)
