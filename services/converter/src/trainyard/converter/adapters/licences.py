"""Where a licence may stand: in the model's file, and in what lies beside it."""

from __future__ import annotations

import json
import stat
from importlib.metadata import metadata
from pathlib import Path

from trainyard.common.contract.conversions import Format
from trainyard.converter.core import licences

MOST = 2**16
"""Bytes that are read of a text."""
MOST_HEADER = 2**24
"""Bytes of the names and shapes in front of safetensors; a longer header is not looked into."""
MOST_FILES = 1000
"""Names in a folder that are looked at."""


def of_model(path: Path, format_: Format, stored: str = "") -> dict[str, str]:
    """File → the licence that it says; empty where none says any. `stored`: what a worker has found in the model itself."""
    found = {path.name: stored or (_safetensors(path) if format_ == "safetensors" else "")}
    folder = path if path.is_dir() else path.parent
    try:
        names = sorted(child.name for child, _ in zip(folder.iterdir(), range(MOST_FILES), strict=False))
    except OSError:
        names = []
    for name in names:
        if licences.is_text(name) or name.lower() == licences.CARD:
            text = _head(folder / name, MOST).decode(errors="replace")
            found[name] = licences.of_text(text) if licences.is_text(name) else licences.of_card(text)
    return {name: words for name, words in found.items() if words}


def of_tool(name: str) -> str:
    """As its distribution says: the expression of SPDX, else what older ones wrote."""
    told = metadata(name)
    fields = {field: told[field] for field in ("License-Expression", "License") if field in told}
    classifiers = [item.rpartition(" :: ")[2] for item in told.get_all("Classifier", []) if item.startswith("License")]
    older = ", ".join(classifiers) or next(iter(fields.get("License", "").splitlines()), "")
    return licences.shown(fields.get("License-Expression") or older or licences.UNKNOWN)


def _safetensors(path: Path) -> str:
    size = int.from_bytes(_head(path, 8), "little")
    if size > MOST_HEADER:
        return ""
    try:
        header = json.loads(_head(path, 8 + size)[8:])
        return licences.of_metadata(dict(header["__metadata__"]).items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # broken: its reader says so
        return ""


def _head(file: Path, most: int) -> bytes:
    """Of a file of its own: nothing where it is a link, a pipe, or cannot be read."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return b""
        with file.open("rb") as stream:
            return stream.read(most)
    except OSError:
        return b""
