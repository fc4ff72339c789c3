"""Switches that trade numbers or time for memory, one name for each framework's own: mixed precision, gradient
checkpointing, emptying the allocator's cache.

Sources: torch.amp, torch.utils.checkpoint, torch.cuda.memory; keras.mixed_precision; jax.checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from trainyard.worker import defaults
from trainyard.worker.place import here

_TORCH = ("pytorch", "lightning", "deepspeed", "colossalai", "horovod")


def mixed_precision(dtype: str = "bf16", *, device: str | None = None) -> AbstractContextManager[Any]:
    """Compute in `bf16` or `fp16` where the framework says it is safe; weights stay in 32 bits.

    PyTorch: enter it around the forward pass. TensorFlow and Keras: a policy for the whole process; entering does nothing.
    JAX has no such switch (a model's dtype is its own): ValueError. fp16 needs a gradient scaler, which stays the caller's.
    """
    if dtype not in {"bf16", "fp16"}:
        raise ValueError(f"mixed precision is bf16 or fp16, not {dtype!r}")
    framework = here().framework or "pytorch"
    if framework in _TORCH:
        import torch

        kind = device or ("cuda" if torch.cuda.is_available() else "cpu")
        defaults.told(f"mixed precision {dtype} on {kind}")
        context: AbstractContextManager[Any] = torch.autocast(
            kind, torch.bfloat16 if dtype == "bf16" else torch.float16
        )
        return context
    if framework in {"tensorflow", "keras"}:
        import keras

        policy = "mixed_bfloat16" if dtype == "bf16" else "mixed_float16"
        keras.mixed_precision.set_global_policy(policy)
        defaults.told(f"mixed precision: Keras policy {policy}")
        return nullcontext()
    raise ValueError(f"{framework} has no switch for mixed precision that we know: set the dtype in the model")


def checkpoint_gradients(module: Any) -> Any:
    """Forget activations and compute them again in the backward pass: less memory for about a third more time.

    PyTorch: a Hugging Face model by its own switch, or else every child of the module. JAX: a function. Gives what to call.
    """
    if hasattr(module, "gradient_checkpointing_enable"):
        module.gradient_checkpointing_enable()
    elif hasattr(module, "named_children"):
        _checkpoint_children(module)
    elif callable(module) and here().framework == "jax":
        import jax

        wrapped: Callable[..., Any] = jax.checkpoint(module)
        return wrapped
    else:
        raise TypeError(
            f"gradients of {type(module).__name__} cannot be checkpointed: give a torch module or a JAX function"
        )
    defaults.told(f"gradient checkpointing in {type(module).__name__}")
    return module


def _checkpoint_children(module: Any) -> None:
    from torch.utils.checkpoint import checkpoint

    children = dict(module.named_children())
    if not children:
        raise TypeError(f"{type(module).__name__} has no children to checkpoint")
    for child in children.values():
        child.forward = _recomputed(checkpoint, child.forward)


def _recomputed(checkpoint: Callable[..., Any], forward: Callable[..., Any]) -> Callable[..., Any]:
    def again(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    return again


class EmptyCache:
    """Give freed GPU memory back to the driver every so many steps. For jobs whose shapes vary and that share a GPU; it
    costs time, so nothing does it by default. On a CPU it does nothing."""

    def __init__(self, every: int) -> None:
        if every < 1:
            raise ValueError(f"every is 1 or more steps, not {every}")
        self._every, self._steps = every, 0

    def step(self) -> bool:
        """Call it once a step; true when it has emptied the cache."""
        self._steps += 1
        if self._steps % self._every:
            return False
        import torch

        if not torch.cuda.is_available():
            return False
        torch.cuda.empty_cache()
        return True
