"""DeepSpeed: torch's group, taken over by DeepSpeed. The handle is the configuration that this process should train with.

`TRAINYARD_DEEPSPEED_CONFIG` (a JSON file in the job's folder) is completed, never overwritten: what it says stands.
Source: DeepSpeed's configuration documentation. Its default for gradient clipping differs between versions, so it is said.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from trainyard.worker.frameworks import torch
from trainyard.worker.process import Process

describe = torch.describe


def join(backend: str | None, timeout: float) -> Process:
    process = torch.join(backend, timeout)
    if process.backend is None:
        return process
    from datetime import timedelta

    import deepspeed

    deepspeed.init_distributed(
        dist_backend=process.backend, verbose=False, timeout=timedelta(seconds=timeout), auto_mpi_discovery=False
    )
    return process


def deepspeed_config(
    *,
    micro_batch: int,
    stage: int = 2,
    offload: bool = False,
    accumulate: int = 1,
    bf16: bool = False,
    gradient_clipping: float = 1.0,
    lr: float | None = None,
    base: str | dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A configuration for `deepspeed.initialize(config=…)`.

    `micro_batch`: samples a step on each rank. `stage`: ZeRO 0 to 3. `offload`: optimizer (and with stage 3 parameters) to
    host memory. `lr`: DeepSpeed makes an AdamW with this learning rate, the one for the
    CPU where it is offloaded; None: the caller gives `deepspeed.initialize` an optimizer, which offload bears only in
    DeepSpeed's own. `base`: a dict or a JSON file whose values come first; default the file that TRAINYARD_DEEPSPEED_CONFIG
    names. Raises ValueError for what DeepSpeed would refuse later.
    """
    if stage not in range(4):
        raise ValueError(f"stage is 0, 1, 2 or 3, not {stage}")
    if offload and stage == 0:
        raise ValueError("offload needs ZeRO stage 1, 2 or 3")
    zero: dict[str, Any] = {"stage": stage}
    if offload:
        zero["offload_optimizer"] = {"device": "cpu"}
        if stage == 3:
            zero["offload_param"] = {"device": "cpu"}
    made: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": micro_batch,
        "gradient_accumulation_steps": accumulate,
        "gradient_clipping": gradient_clipping,
        "zero_optimization": zero,
        "bf16": {"enabled": bf16},
    }
    if lr is not None:
        made["optimizer"] = {"type": "AdamW", "params": {"lr": lr}}
    return _completed(_base(base), made)


def _base(base: str | dict[str, Any] | None) -> dict[str, Any]:
    source = base if base is not None else os.environ.get("TRAINYARD_DEEPSPEED_CONFIG")
    if source is None or isinstance(source, dict):
        return source or {}
    document = json.loads(Path(source).read_text())
    if not isinstance(document, dict):
        raise TypeError(f"{source} is not a JSON object")
    return document


def _completed(given: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """What is given stands, at every depth."""
    result = {**made, **given}
    for key, value in given.items():
        if isinstance(value, dict) and isinstance(made.get(key), dict):
            result[key] = _completed(value, made[key])
    if "train_batch_size" in given:  # DeepSpeed derives the rest of the three from the world size
        for name in ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps"):
            if name not in given:
                result.pop(name, None)
    return result
