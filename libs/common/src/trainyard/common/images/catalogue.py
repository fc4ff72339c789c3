"""The catalogue of images: one folder an image, with `image.toml` and the locked requirements of its local recipe.

name = "pytorch-cpu"
framework = "pytorch"
version = "2.13.0"               # of the framework
accelerators = ["cpu"]

[local]
python = ">=3.11,<3.15"          # interpreters that have wheels
lock = "requirements.lock"       # hashes for everything in it
cpu_build = ["torch==2.13.0"]    # installed apart: its CPU build comes from where this machine has one
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from trainyard.common.errors import NotFound, TrainyardError

BUILT_IN = frozenset({"host", "noop"})
"""Images without a recipe: the machine's own interpreter, and nothing at all."""


class _Local(BaseModel):
    model_config = ConfigDict(extra="forbid")
    python: str
    lock: str
    cpu_build: tuple[str, ...] = ()


class _Image(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    framework: str
    version: str
    accelerators: tuple[str, ...]
    local: _Local


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    framework: str
    version: str
    accelerators: tuple[str, ...]
    python: str
    """A PEP 440 specifier."""
    lock: str
    """The text of the locked requirements."""
    cpu_build: tuple[str, ...]


def folder(env: Mapping[str, str]) -> Path:
    """TRAINYARD_CATALOGUE, or `deploy/images` of the clone that this code runs from."""
    configured = env.get("TRAINYARD_CATALOGUE")
    if configured:
        return Path(configured)
    for parent in Path(__file__).resolve().parents:
        if (parent / "deploy" / "images").is_dir():
            return parent / "deploy" / "images"
    return Path("deploy/images").absolute()


def read_all(catalogue: Path) -> list[Recipe]:
    """Every image, by name. Raises TrainyardError that names the faulty file."""
    if not catalogue.is_dir():
        raise TrainyardError(f"there is no image catalogue at {catalogue}: set TRAINYARD_CATALOGUE")
    return [_read(path.parent) for path in sorted(catalogue.glob("*/image.toml"))]


def read(catalogue: Path, name: str) -> Recipe:
    for recipe in read_all(catalogue):
        if recipe.name == name:
            return recipe
    raise NotFound(f"there is no image {name!r} in {catalogue}")


def _read(image: Path) -> Recipe:
    file = image / "image.toml"
    try:
        document = _Image.model_validate(tomllib.loads(file.read_text()))
        lock = (image / document.local.lock).read_text()
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise TrainyardError(f"{file} cannot be used: {error}") from error
    if document.name != image.name:
        raise TrainyardError(f"{file} names itself {document.name!r} but lies in {image.name!r}")
    return Recipe(
        document.name,
        document.framework,
        document.version,
        document.accelerators,
        document.local.python,
        lock,
        document.local.cpu_build,
    )
