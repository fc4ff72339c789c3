"""What `yard convert` asks for: a file with a `convert:` block, or a model with what was said beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainyard.client import files
from trainyard.common.errors import InvalidInput

EXAMPLE = "NAME:DTYPE:DIMENSIONS, such as image:float32:batch,3,224,224"
LONGEST_NAME = 40
LARGEST = 2**20
"""Bytes of a job file at most."""


def described(path: Path) -> bool:
    """Whether it is a description of a conversion or a job, and not a model."""
    if path.is_dir():
        return any((path / name).exists() for name in files.NAMES)
    if path.suffix.lower() == ".json":  # models are written as JSON too
        return path.is_file() and path.stat().st_size <= LARGEST and b'"convert"' in path.read_bytes()
    return path.suffix.lower() in {".yaml", ".yml"}


def conversion(path: Path, said: Mapping[str, Any], artifacts: Path | None = None) -> dict[str, Any]:
    """A conversion's document. `said`: options by their name in the `convert:` block, None for what was not said. Raises
    InvalidInput."""
    changes = {name: value for name, value in said.items() if value is not None}
    if described(path):
        document = files.read(path)
        block = document.get("convert")
        if not isinstance(block, dict):
            raise InvalidInput.one(f"{path} has no `convert:` block")
        folder = artifacts or (path if path.is_dir() else path.parent)
        block = {"name": document.get("name"), **block, **changes}
        return {"workdir": document["workdir"], "artifacts": str(folder.resolve()), "convert": block}
    if not path.exists():
        raise InvalidInput.one(f"there is no model and no job file at {path}", "MODEL")
    home = path.resolve().parent
    block = {"name": name_of(path), "weights": path.name, **changes}
    return {"workdir": str(Path.cwd()), "artifacts": str(artifacts.resolve() if artifacts else home), "convert": block}


def name_of(path: Path) -> str:
    """A model's name from its file's: letters, digits and '-'."""
    words = re.sub(r"[^a-z0-9]+", "-", path.name.rpartition(".")[0].lower() or path.name.lower())
    return words[:LONGEST_NAME].strip("-") or "model"


def tensor(text: str) -> dict[str, Any]:
    """`name:dtype:dimensions` of one input. Raises InvalidInput."""
    parts = text.rsplit(":", 2)  # exporters of TensorFlow write names with a colon in them
    if len(parts) != 3 or not all(parts):
        raise InvalidInput.one(f"{text!r} does not describe an input", "--input", EXAMPLE)
    name, dtype, dimensions = parts
    return {"name": name, "dtype": dtype, "shape": [_dimension(part.strip(), text) for part in dimensions.split(",")]}


def _dimension(part: str, text: str) -> int | str:
    if part == "batch":
        return part
    if re.fullmatch(r"-1|[0-9]{1,10}", part, re.ASCII):
        return int(part)
    raise InvalidInput.one(f"{part!r} in {text!r} is no dimension", "--input", "a number, batch, or -1 for a free one")
