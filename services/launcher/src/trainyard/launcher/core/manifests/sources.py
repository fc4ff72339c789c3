"""The folder of a job as a ConfigMap: an archive that the runner unpacks. Jobs with the same folder share one.

It is nobody's: a root names it, and it goes when no root has named it for a while. `used` says when it was last wanted;
since that changes the object, one that is wanted at this moment is never deleted by who has read it before.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from trainyard.launcher.core.cluster import labels

KEY = "source.zip"
USED = "trainyard.dev/used"
"""An annotation: Unix seconds."""


def name(digest: str) -> str:
    """Of the ConfigMap."""
    return f"trainyard-source-{digest.removeprefix('sha256:')[:24]}"


def manifest(digest: str, namespace: str, archive: bytes, now: float) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name(digest),
            "namespace": namespace,
            "labels": {"app.kubernetes.io/part-of": labels.OURS, labels.SOURCE: "true"},
            "annotations": {USED: f"{now:.0f}"},
        },
        "binaryData": {KEY: base64.b64encode(archive).decode()},
        "immutable": True,
    }


@dataclass(frozen=True, slots=True)
class Held:
    """One that is in the cluster."""

    name: str
    namespace: str
    uid: str
    version: str
    used: float


def read(document: dict[str, Any]) -> Held:
    metadata = document["metadata"]
    used = (metadata.get("annotations") or {}).get(USED, "0")
    return Held(
        metadata["name"],
        metadata["namespace"],
        metadata["uid"],
        metadata["resourceVersion"],
        float(used) if used.isascii() and used.isdigit() else 0.0,
    )
