"""What can go wrong when a tensor crosses from one framework to another. `str(error)` is one sentence."""

from __future__ import annotations


class TensorError(Exception):
    """It cannot cross: the framework is missing, the type has no form there, a gradient hangs on it."""


class CannotShare(TensorError):
    """It could cross with a copy, and copy=False asked for none."""
