"""Wheels that are made on the spot, for tests of what installs them without an index."""

from __future__ import annotations

import zipfile
from pathlib import Path


def wheel(folder: Path, version: str, requires: str = "") -> None:
    """A torch small enough for a test."""
    folder.mkdir(exist_ok=True)
    info = f"torchlet-{version}.dist-info"
    with zipfile.ZipFile(folder / f"torchlet-{version}-py3-none-any.whl", "w") as file:
        file.writestr("torchlet.py", f"version = {version!r}\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torchlet\nVersion: {version}\n{requires}")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
