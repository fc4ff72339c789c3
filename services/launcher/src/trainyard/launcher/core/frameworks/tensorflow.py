"""TensorFlow: TF_CONFIG for MultiWorkerMirroredStrategy and ParameterServerStrategy.

Source: tf.distribute documentation, "TF_CONFIG": the cluster lists every task's address, an evaluator stands outside of it.
GRPC_FAIL_FAST=use_caller is what ParameterServerStrategy asks for, so that a coordinator notices a lost worker.
"""

from __future__ import annotations

import json

from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place

_IN_CLUSTER = ("chief", "worker", "ps")


def tf_config(place: Place, group: Group) -> dict[str, str]:
    """Nothing for a single process, which TensorFlow would otherwise make a cluster of one."""
    if group.size == 1:
        return {}
    cluster = {role: endpoints for role in _IN_CLUSTER if (endpoints := group.endpoints(role))}
    document = {"cluster": cluster, "task": {"type": place.role, "index": place.index}}
    fail_fast = {"GRPC_FAIL_FAST": "use_caller"} if "ps" in cluster else {}
    return {"TF_CONFIG": json.dumps(document, separators=(",", ":")), **fail_fast}


def _serves(place: Place, roles: frozenset[str]) -> bool:
    """With parameter servers the chief coordinates, and workers wait for its work until they are ended."""
    return place.role in {"ps", "evaluator"} or (place.role == "worker" and "ps" in roles)


ADAPTER = Adapter(tf_config, serves=_serves)
