"""Publishing a result: the whole folder at once, and its model as a new version in the repository that is served."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path


def publish(scratch: Path, target: Path) -> None:
    """`scratch` becomes `target` by a rename; what an earlier try of the same conversion left there goes first."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    scratch.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def digest(file: Path) -> str:
    """SHA-256 in hex, read in pieces."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
