"""Keras 3: the backend that the mode names, and that backend's environment.

Source: Keras documentation, "Configuring your backend" (KERAS_BACKEND).
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks import jax, pytorch, tensorflow
from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place

_BACKENDS = {"torch": pytorch.ranks, "tensorflow": tensorflow.tf_config, "jax": jax.processes}


def _environment(place: Place, group: Group) -> dict[str, str]:
    return {"KERAS_BACKEND": group.mode, **_BACKENDS[group.mode](place, group)}


ADAPTER = Adapter(_environment)
