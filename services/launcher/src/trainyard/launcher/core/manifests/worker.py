"""The package trainyard.worker as a ConfigMap: a zip that Python imports from, so that no image has to contain it.

Its name has the digest of what is in it, so pods of an older launcher keep the package that they were planned for.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from trainyard.common.sources import archive
from trainyard.launcher.core.cluster import labels

KEY = "worker.zip"
MAX_BYTES = 1_000_000
"""A ConfigMap holds 1 MiB."""


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    """Of the ConfigMap; `Cluster.worker`."""
    data: bytes

    def manifest(self, namespace: str) -> dict[str, Any]:
        """Immutable: what is in it never changes under its name, and the kubelets need not watch it."""
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "labels": {"app.kubernetes.io/part-of": labels.OURS},
            },
            "binaryData": {KEY: base64.b64encode(self.data).decode()},
            "immutable": True,
        }


def package(files: Mapping[str, bytes]) -> Package:
    """`files`: path from the import root (`trainyard/worker/place.py`) → content. The same bytes for the same files.
    Raises ValueError when a ConfigMap cannot hold them."""
    folders = {f"{parent}/" for path in files for parent in PurePosixPath(path).parents if parent.name}
    # Without entries of their own Python finds no namespace packages in a zip, and `trainyard` is one.
    data = archive.zipped((path, False, files.get(path, b"")) for path in sorted({*folders, *files}))
    if len(data) > MAX_BYTES:
        raise ValueError(f"the package is {len(data)} bytes as a zip, and a ConfigMap holds {MAX_BYTES}")
    digest = hashlib.sha256(b"".join(path.encode() + b"\0" + files[path] + b"\0" for path in sorted(files)))
    return Package(f"trainyard-worker-{digest.hexdigest()[:12]}", data)
