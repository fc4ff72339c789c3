"""The package trainyard.worker as a ConfigMap: a zip that Python imports from, so that no image has to contain it.

Its name has the digest of what is in it, so pods of an older launcher keep the package that they were planned for.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from trainyard.launcher.core.cluster import labels

KEY = "worker.zip"
MAX_BYTES = 1_000_000
"""A ConfigMap holds 1 MiB."""
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can tell


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
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        # Without entries of their own Python finds no namespace packages in a zip, and `trainyard` is one.
        for path in sorted({*folders, *files}):
            entry = zipfile.ZipInfo(path, _TIME)
            entry.create_system = 3  # Unix, wherever it is made
            entry.external_attr = (0o40755 if path.endswith("/") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_STORED if path.endswith("/") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, files.get(path, b""))
    data = out.getvalue()
    if len(data) > MAX_BYTES:
        raise ValueError(f"the package is {len(data)} bytes as a zip, and a ConfigMap holds {MAX_BYTES}")
    digest = hashlib.sha256(b"".join(path.encode() + b"\0" + files[path] + b"\0" for path in sorted(files)))
    return Package(f"trainyard-worker-{digest.hexdigest()[:12]}", data)
