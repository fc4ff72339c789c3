"""Apache MXNet. The handle is the kvstore. Schedulers and servers serve inside of `import mxnet` and never return.

Source: MXNet's distributed training guide.
"""

from __future__ import annotations

import os

from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del timeout  # ps-lite takes none
    import mxnet as mx

    place = here()
    context = mx.gpu(place.local_rank) if mx.context.num_gpus() else mx.cpu()
    if "DMLC_ROLE" not in os.environ:
        return Process(0, 0, 1, None, context, mx.kv.create("local"))
    store = mx.kv.create(backend or "dist_sync")
    # Pushes that still wait in the engine when the store goes are never sent, and the other workers wait for them for ever.
    return Process(
        store.rank, place.local_rank, store.num_workers, store.type, context, store, leave=mx.nd.waitall
    )  # fmt: skip


def describe(process: Process) -> str:
    del process
    return ""
