"""What the monitor does with the log and with its own clock."""

from __future__ import annotations

import asyncio
import time

from trainyard.common.bus.port import EventLog, Telemetry
from trainyard.common.contract import subjects
from trainyard.common.contract.events import DeviceSampled
from trainyard.monitor.core.fleet import Fleet
from trainyard.monitor.ports import Collector


async def follow_events(fleet: Fleet, log: EventLog) -> None:
    """Jobs and conversions, from the beginning of the log and then live."""
    async for batch in log.follow():
        for recorded in batch.events:
            fleet.apply(recorded)
        await asyncio.sleep(0)  # requests have their turn between two batches of a long catch-up


async def observe_devices(fleet: Fleet, telemetry: Telemetry) -> None:
    """Samples of every node, this one included."""
    async for recorded in telemetry.observe(subjects.of_kind("device", DeviceSampled.kind)):
        fleet.apply(recorded)


async def sample(fleet: Fleet, telemetry: Telemetry, collector: Collector, node: str, interval: float) -> None:
    """Measures this node for ever. Reading processes blocks, so it is done in a thread."""
    while True:
        pids = {job.job_id: job.pids for job in fleet.active() if job.pids}
        devices = await asyncio.to_thread(collector.devices)
        usage = await asyncio.to_thread(collector.usage, pids)
        await telemetry.publish(DeviceSampled(node=node, at=time.time(), devices=tuple(devices), usage=tuple(usage)))
        await asyncio.sleep(interval)
