"""Keras 3: the group of the backend that the job's mode names (KERAS_BACKEND)."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from trainyard.worker.process import Process

_MODULES = {"torch": "torch", "tensorflow": "tensorflow", "jax": "jax"}


def join(backend: str | None, timeout: float) -> Process:
    process: Process = _module().join(backend, timeout)
    return process


def describe(process: Process) -> str:
    more: str = _module().describe(process)
    return f"Keras on {os.environ.get('KERAS_BACKEND', 'tensorflow')}, {more}"


def _module() -> Any:
    """A sibling with join and describe."""
    return import_module(f"trainyard.worker.frameworks.{_MODULES[os.environ.get('KERAS_BACKEND', 'tensorflow')]}")
