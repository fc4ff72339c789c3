"""Which module of `bridges` speaks for a framework, or for a tensor. Nothing is imported that is not asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from trainyard.tensors.errors import TensorError
from trainyard.tensors.port import Bridge

BRIDGES = {
    "numpy": "numpy",
    "arrow": "arrow",
    "torch": "torch",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "paddle": "paddle",
    "mindspore": "mindspore",
    "mxnet": "mxnet",
    "cupy": "cupy",
}
"""Framework → module of `bridges`."""
PACKAGES = {"pyarrow": "arrow", "jaxlib": "jax", **{name: name for name in BRIDGES if name != "arrow"}}
"""The package that a tensor's type comes from → framework."""


def named(framework: str) -> Bridge:
    """Raises TensorError for a framework that is not known or not installed."""
    if framework not in BRIDGES:
        raise TensorError(f"{framework!r} is no framework that tensors go to: {', '.join(BRIDGES)}")
    try:
        bridge = _bridge(framework)
        bridge.traits()
    except ImportError as error:
        raise TensorError(f"{framework} is not installed here: {error}") from error
    return bridge


@cache
def of(kind: type) -> Bridge | None:
    """None: what is of this type is no tensor."""
    for base in kind.__mro__:
        framework = PACKAGES.get(base.__module__.partition(".")[0])
        if framework is not None and _bridge(framework).owns(kind):
            return _bridge(framework)
    return None


@cache
def _bridge(framework: str) -> Bridge:
    module: ModuleType = import_module(f"trainyard.tensors.bridges.{BRIDGES[framework]}")
    bridge: Any = module
    return cast("Bridge", bridge)
