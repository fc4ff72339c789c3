"""The catalogue of images: one folder an image, with `image.toml` and the locked requirements of its local recipe.

name = "pytorch-cpu"
framework = "pytorch"
version = "2.13.0"               # of the framework
accelerators = ["cpu"]           # kinds that it can use; the first is what it was made for
features = ["torch-compile"]     # what image and framework can do beyond the framework's name

[local]                          # a virtual environment on this machine; absent: `not_local = "why"` above
python = ">=3.11,<3.15"          # interpreters that have wheels
lock = "requirements.lock"       # hashes for everything in it
cpu_build = ["torch==2.13.0"]    # installed apart: its CPU build comes from where this machine has one
size = 941                       # MB, measured; for the progress bar
needs = "nvidia"                 # the driver without which it is of no use here; absent: none

[container]                      # see `yard images dockerfile`
base = "python:3.11-slim-bookworm"
digest = "sha256:…"              # of the image as it was pushed; `yard images pin`
labels = { cuda = "13.0" }       # facts for the matrix: cuda, cudnn, rocm, cann, arch (compute capabilities) …
packages = ["g++"]               # Debian packages
install = ["horovod==0.28.1"]    # what pip installs or compiles beside the lock
environment = { A = "b" }        # for that
torch_backend = "cu126"          # the build of torch that `install` takes
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self

from packaging.version import Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trainyard.common.errors import NotFound, TrainyardError
from trainyard.common.images.drivers import Driver

BUILT_IN = frozenset({"host", "noop"})
"""Images without a recipe: the machine's own interpreter, and nothing at all."""


class _Local(BaseModel):
    model_config = ConfigDict(extra="forbid")
    python: str
    lock: str
    cpu_build: tuple[str, ...] = ()
    needs: Driver | None = None
    size: Annotated[int, Field(ge=0)] = 0


class _Container(BaseModel):
    model_config = ConfigDict(extra="forbid")
    base: str = "python:3.11-slim-bookworm"
    reference: str | None = None
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    labels: dict[str, str] = {}
    packages: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    torch_backend: str | None = None


class _Image(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    """Without dots: what follows one in the cache is what becomes of an image there (`.building`, `.lock`)."""
    framework: str
    version: str
    accelerators: tuple[str, ...]
    features: tuple[str, ...] = ()
    not_local: str = ""
    local: _Local | None = None
    container: _Container = _Container()

    @field_validator("version")
    @classmethod
    def _is_a_version(cls, value: str) -> str:
        Version(value)  # the matrix compares it; InvalidVersion is a ValueError
        return value

    @model_validator(mode="after")
    def _says_why_it_is_not_local(self) -> Self:
        if (self.local is None) != bool(self.not_local):
            raise ValueError("either a [local] recipe or `not_local` with the reason why there is none")
        return self


@dataclass(frozen=True, slots=True)
class Container:
    base: str
    reference: str | None
    """Where it was pushed, without tag or digest."""
    digest: str | None
    labels: Mapping[str, str]
    packages: tuple[str, ...]
    install: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    torch_backend: str | None = None

    @property
    def pinned(self) -> str | None:
        """What Kubernetes is given: one content for ever; None until it was pushed and pinned."""
        return f"{self.reference}@{self.digest}" if self.reference and self.digest else None


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    framework: str
    version: str
    accelerators: tuple[str, ...]
    python: str
    """A PEP 440 specifier; empty where there is no local recipe."""
    lock: str
    """The text of the locked requirements."""
    cpu_build: tuple[str, ...]
    size: int = 0
    """Bytes of the environment, about; 0: nobody has measured."""
    not_local: str = ""
    """Why it cannot be built as an environment on a machine, in words; empty: it can."""
    features: tuple[str, ...] = ()
    needs: Driver | None = None
    """The driver without which the local image is of no use."""
    container: Container = field(default=Container("python:3.11-slim-bookworm", None, None, {}, ()), compare=False)

    @property
    def content(self) -> tuple[object, ...]:
        """What makes the local image what it is."""
        return (self.name, self.framework, self.version, self.accelerators, self.python, self.lock, self.cpu_build)


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


def lockable(catalogue: Path) -> list[str]:
    """Images that have a requirements.in, by name; whether or not they are locked yet."""
    return sorted(path.parent.name for path in catalogue.glob("*/requirements.in"))


def _read(image: Path) -> Recipe:
    file = image / "image.toml"
    try:
        document = _Image.model_validate(tomllib.loads(file.read_text()))
        if document.local and not (image / document.local.lock).exists():
            raise TrainyardError(f"image {image.name} is not locked yet: run `yard images lock {image.name}`")
        lock = (image / document.local.lock).read_text() if document.local else ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise TrainyardError(f"image {image.name} cannot be used ({image}): {error}") from error
    if document.name != image.name:
        raise TrainyardError(f"{file} names itself {document.name!r} but lies in {image.name!r}")
    local, container = document.local, document.container
    return Recipe(
        document.name,
        document.framework,
        document.version,
        document.accelerators,
        local.python if local else "",
        lock,
        local.cpu_build if local else (),
        size=local.size * 10**6 if local else 0,
        not_local=document.not_local,
        features=document.features,
        needs=local.needs if local else None,
        container=Container(**container.model_dump()),
    )
