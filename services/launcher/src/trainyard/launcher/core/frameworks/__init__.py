"""One pure module a framework, and the one table of them: what forms the process group of each."""

from __future__ import annotations

from trainyard.launcher.core.frameworks import (
    deepspeed,
    generic,
    jax,
    keras,
    lightning,
    mindspore,
    mpi,
    mxnet,
    paddle,
    pytorch,
    ray,
    tensorflow,
    xgboost,
)
from trainyard.launcher.core.frameworks.shape import Adapter

ADAPTERS: dict[str, Adapter] = {
    "generic": generic.ADAPTER,
    "pytorch": pytorch.ADAPTER,
    "lightning": lightning.ADAPTER,
    "deepspeed": deepspeed.ADAPTER,
    "tensorflow": tensorflow.ADAPTER,
    "keras": keras.ADAPTER,
    "jax": jax.ADAPTER,
    "paddle": paddle.ADAPTER,
    "mindspore": mindspore.ADAPTER,
    "mxnet": mxnet.ADAPTER,
    "horovod": mpi.HOROVOD,
    "mpi": mpi.MPI,
    "colossalai": pytorch.LIKE_TORCH,
    "oneflow": pytorch.LIKE_TORCH,
    "xgboost": xgboost.ADAPTER,
    "lightgbm": generic.ADAPTER,
    "catboost": generic.ADAPTER,
    "sklearn": generic.ADAPTER,
    "ray": ray.ADAPTER,
}
