"""XGBoost's collective. Rank 0 runs the tracker; all ranks are inside of a communicator until `close()`.

Source: xgboost.collective, xgboost.tracker.RabitTracker.
"""

from __future__ import annotations

import os
import threading

from trainyard.worker.gang import Gang
from trainyard.worker.meeting import required, wait_for_port
from trainyard.worker.place import here
from trainyard.worker.process import Process

RETRIES = 10
"""Tries to reach the tracker; XGBoost waits longer between each."""


def join(backend: str | None, timeout: float) -> Process:
    del backend  # it has one
    from xgboost import collective
    from xgboost.tracker import RabitTracker

    place = here()
    device = "cuda" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"
    if place.world_size == 1:
        return Process(0, 0, 1, None, device)
    host, port, task, count = required(
        "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER", framework="xgboost"
    )
    if place.rank == 0:
        wait_for_port(int(port), timeout, f"{host}:{port}")
        tracker = RabitTracker(int(count), host, int(port), sortby="task", timeout=int(timeout))
        tracker.start()
        threading.Thread(target=tracker.wait_for, name="tracker", daemon=True).start()
    if place.endpoints:
        # Nobody knocks before the tracker listens: XGBoost would try again, and warn each time.
        host_0, _, port_0 = place.endpoints[0].rpartition(":")
        with Gang(place.rank, place.world_size, (host_0, int(port_0)), timeout) as gang:
            gang.barrier()
    collective.init(
        dmlc_communicator="rabit",
        dmlc_tracker_uri=host,
        dmlc_tracker_port=int(port),
        dmlc_task_id=task,
        dmlc_retry=RETRIES,
        dmlc_timeout=int(timeout),
    )
    return Process(
        collective.get_rank(), place.local_rank, collective.get_world_size(), "rabit", device, collective,
        collective.finalize,
    )  # fmt: skip


def describe(process: Process) -> str:
    del process
    return ""
