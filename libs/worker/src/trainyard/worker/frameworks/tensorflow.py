"""TensorFlow. The handle is the tf.distribute strategy that TF_CONFIG asks for.

Roles of a parameter-server job other than the chief serve here and never return; the launcher ends them when the chief is
done. Source: tf.distribute documentation.
"""

from __future__ import annotations

import json
import os
from typing import Any

from trainyard.worker import defaults
from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    defaults.environment({"TF_CPP_MIN_LOG_LEVEL": "1"})
    import tensorflow as tf

    growing = _grow_memory(tf)
    device = growing[0] if growing else "cpu"
    place = here()
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    cluster, task = config.get("cluster", {}), config.get("task", {})
    if "ps" in cluster:
        return _parameter_server(tf, place.rank, task, device)
    members = len(cluster.get("chief", [])) + len(cluster.get("worker", []))
    if members <= 1 or task.get("type") == "evaluator":
        strategy = tf.distribute.MirroredStrategy() if len(growing) > 1 else tf.distribute.get_strategy()
        return Process(0 if members <= 1 else place.rank, place.local_rank, max(1, members), None, device, strategy)
    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=timeout,
        implementation=getattr(tf.distribute.experimental.CommunicationImplementation, (backend or "auto").upper()),
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    rank = task["index"] + (len(cluster.get("chief", [])) if task["type"] == "worker" else 0)
    return Process(rank, place.local_rank, members, backend or ("nccl" if growing else "ring"), device, strategy)


def describe(process: Process) -> str:
    return f"{type(process.handle).__name__}, "


def _parameter_server(tf: Any, rank: int, task: dict[str, Any], device: str) -> Process:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if task["type"] in {"worker", "ps"}:
        server = tf.distribute.Server(
            resolver.cluster_spec(), job_name=task["type"], task_index=task["index"], protocol="grpc"
        )
        print(f"trainyard: {task['type']} {task['index']} serves until the chief is done", flush=True)
        server.join()
    size = len(resolver.cluster_spec().job_tasks("worker"))
    if task["type"] == "evaluator":
        return Process(rank, 0, size, None, device, tf.distribute.get_strategy())
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    return Process(0, 0, size, "grpc", device, strategy)


def _grow_memory(tf: Any) -> list[str]:
    """Without it the first process takes the whole GPU."""
    devices = tf.config.list_physical_devices("GPU")
    if devices and defaults.wanted("memory-growth"):
        for device in devices:
            tf.config.experimental.set_memory_growth(device, True)
        defaults.told("TensorFlow takes GPU memory as it needs it")
    return [device.name for device in devices]
