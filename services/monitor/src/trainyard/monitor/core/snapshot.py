"""What the panel shows, as JSON. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from trainyard.monitor.core.fleet import Conversion, Fleet, Job

SHOWN = 200


def snapshot(fleet: Fleet) -> dict[str, Any]:
    """Newest jobs first; active ones always among them."""
    newest = list(reversed(fleet.jobs.values()))
    shown = [job for index, job in enumerate(newest) if index < SHOWN or not job.state.terminal]
    return {
        "version": fleet.version,
        "states": dict(Counter(job.state.value for job in newest)),
        "devices": [
            {"node": node, "at": sample.at, **device.model_dump(exclude_none=True)}
            for node, sample in sorted(fleet.devices.items())
            for device in sample.devices
        ],
        "jobs": [_job(job) for job in shown],
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "id": job.job_id,
        "name": job.name,
        "framework": job.framework,
        "owner": job.owner,
        "project": job.project,
        "state": job.state.value,
        "message": job.message,
        "attempt": job.attempt,
        "restarts": job.restarts,
        "submitted_at": job.submitted_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "progress": job.progress,
        "curve": job.curve,
        "usage": job.usage,
        "conversions": [_conversion(item) for item in job.conversions.values()],
    }


def _conversion(conversion: Conversion) -> dict[str, Any]:
    view = asdict(conversion)
    view["report"] = f"/reports/{conversion.conversion_id}" if view.pop("report_html") else None
    return view
