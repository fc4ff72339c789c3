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
    return Process(store.rank, place.local_rank, store.num_workers, store.type, context, store)


def describe(process: Process) -> str:
    del process
    return ""
