"""Data loading with the settings that people otherwise forget, chosen by measuring on this machine.

Folklore says two workers for each core. On a machine with few cores, or with data that is cheap to read, that is slower than
no workers at all; so a few counts are tried on the real data set for a moment each, and the best is used and told.
`TRAINYARD_DEFAULTS=-data-workers` leaves the framework's own.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

from trainyard.worker import defaults
from trainyard.worker.cpus import cpu_share

TRIAL = 1.0
"""Seconds for each count that is tried, at most."""
BATCHES = 50
"""Batches for each count that is tried, at most."""


def tuned_loader(dataset: Any, *, num_workers: int | str = "measure", **options: Any) -> Any:
    """A torch DataLoader. `options` are DataLoader's own and always win.

    `num_workers`: a count, or `measure`. Pinned memory where there is a GPU; with workers: kept between epochs, two batches
    ahead. Shuffling and samplers are the caller's, as ever; the measuring draws from the data set once more than training.
    """
    import torch
    from torch.utils.data import DataLoader

    if defaults.wanted("pin-memory"):
        options.setdefault("pin_memory", torch.cuda.is_available())
    if num_workers == "measure":
        num_workers = _measured(dataset, options) if defaults.wanted("data-workers") else 0
    if not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"num_workers is a count or 'measure', not {num_workers!r}")
    return DataLoader(dataset, num_workers=num_workers, **_with_workers(num_workers, options))


def tuned_dataset(dataset: Any) -> Any:
    """A tf.data.Dataset that prefetches, with as many threads as this process has cores; tf.data tunes the rest."""
    import tensorflow as tf

    if not defaults.wanted("tf-data"):
        return dataset
    options = tf.data.Options()
    options.autotune.enabled = True
    options.threading.private_threadpool_size = max(1, math.floor(cpu_share()))
    options.deterministic = False
    defaults.told(f"tf.data: AUTOTUNE, {options.threading.private_threadpool_size} threads, order not kept")
    return dataset.with_options(options).prefetch(tf.data.AUTOTUNE)


def candidates(share: float) -> list[int]:
    """Counts worth trying with so many cores: none, what is left beside the training process, one a core, folklore's two."""
    cores = max(1, math.floor(share))
    return sorted({0, max(1, cores - 1), cores, 2 * cores})


def _with_workers(count: int, options: dict[str, Any]) -> dict[str, Any]:
    if count and defaults.wanted("persistent-workers"):
        return {"persistent_workers": True, "prefetch_factor": 2, **options}
    return options


def _measured(dataset: Any, options: dict[str, Any]) -> int:
    share = cpu_share()
    rates = {count: _rate(dataset, count, options) for count in candidates(share)}
    best = max(rates, key=rates.__getitem__)
    seen = ", ".join(f"{count}: {rate:.0f}/s" for count, rate in rates.items())
    defaults.told(f"{best} data workers, the fastest of what was measured with {share:g} cores (batches {seen})")
    return best


def _rate(dataset: Any, count: int, options: dict[str, Any]) -> float:
    """Batches a second once the workers are there: their start is paid once, not in every epoch."""
    import torch
    from torch.utils.data import DataLoader

    # A generator of its own: what training draws must not depend on whether this was measured.
    quiet = {**options, "generator": torch.Generator().manual_seed(0)}
    batches = iter(DataLoader(dataset, num_workers=count, **quiet))
    if next(batches, None) is None:
        return 0.0
    began = time.perf_counter()
    seen = 0
    for _ in itertools.islice(batches, BATCHES):
        seen += 1
        if time.perf_counter() - began > TRIAL:
            break
    return seen / max(1e-6, time.perf_counter() - began)
