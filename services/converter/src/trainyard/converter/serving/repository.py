"""The models of a repository on disk: loaded, unloaded and listed as Triton does in explicit model control.

A model is served when all of its chosen versions are there, and what was served before stays until then. Names and versions
come from the network: only what the repository itself lists is opened.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import structlog

from trainyard.common.errors import InvalidInput, NotFound
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.adapters.repository import versions
from trainyard.converter.ports import ExportFault
from trainyard.converter.serving import configuration
from trainyard.converter.serving.configuration import Configuration
from trainyard.converter.serving.models import Model

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    version: int | None
    state: Literal["READY", "UNAVAILABLE"]
    reason: str = ""


@dataclass(slots=True)
class Repository:
    folder: Path
    models: dict[str, dict[int, Model]] = field(default_factory=dict)
    """By name and version; a model's own table is never changed, only replaced."""
    faults: dict[str, str] = field(default_factory=dict)
    """Why a model is not loaded."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def names(self) -> list[str]:
        return sorted(item.parent.name for item in self.folder.glob(f"*/{configuration.FILE}"))

    def load_all(self) -> None:
        for name in self.names():
            try:
                self.load(name)
            except (InvalidInput, NotFound, OSError) as error:
                log.warning("model refused", model=name, error=str(error))

    def load(self, name: str, parameters: Mapping[str, object] = MappingProxyType({})) -> None:
        """Its versions by its policy, in place of what was served before. Raises NotFound, InvalidInput."""
        # In Triton a request may bring a configuration or whole files; what is served here was proven and lies on disk.
        if parameters:
            raise InvalidInput.one("models are loaded from the repository only; `parameters` are not taken")
        if name not in self.names():
            raise NotFound(f"there is no model {name!r} in the repository")
        with self._lock:
            try:
                self._load(name)
            except (InvalidInput, OSError) as error:
                if name not in self.models:
                    self.faults[name] = str(error)
                raise

    def _load(self, name: str) -> None:
        folder = self.folder / name
        config = configuration.read(folder)
        self.models[name] = {
            version: Model(config, version, _runtime(folder / str(version) / config.file, config).run)
            for version in config.versions(versions(folder))
        }
        self.faults.pop(name, None)
        log.info("model loaded", model=name, versions=sorted(self.models[name]), notes=list(config.notes))

    def unload(self, name: str, parameters: Mapping[str, object] = MappingProxyType({})) -> None:
        """Nothing is wrong with a model that is not loaded: who asks wants it gone, and it is."""
        del parameters
        with self._lock:
            self.models.pop(name, None)
            self.faults.pop(name, None)

    def get(self, name: str, version: str | None = None) -> Model:
        """The newest version where none is named. Raises NotFound, and InvalidInput for what is no version."""
        found = self.models.get(name)
        if found is None:
            if name in self.names():
                raise NotFound(f"model {name!r} is not loaded{': ' + self.faults[name] if name in self.faults else ''}")
            raise NotFound(f"there is no model {name!r}")
        if not version:
            return found[max(found)]
        if not (version.isascii() and version.isdecimal() and len(version) < 19):
            raise InvalidInput.one(f"{version[:40]!r} is no version: they are numbers above 0")
        if int(version) not in found:
            served = ", ".join(map(str, sorted(found)))
            raise NotFound(f"model {name!r} has no version {version} here, only {served}")
        return found[int(version)]

    def versions_of(self, name: str) -> list[int]:
        return sorted(self.models.get(name, ()))

    def all(self, name: str = "", version: str = "") -> list[Model]:
        """Everything that is served of this name, or of all; raises like `get` for what is named and is not there."""
        if name and version:
            return [self.get(name, version)]
        if name:
            self.get(name)
        served = dict(self.models)  # may change meanwhile
        return [
            served[key][number] for key in sorted(served) if not name or key == name for number in sorted(served[key])
        ]

    def index(self, *, ready_only: bool = False) -> list[Entry]:
        ready = [Entry(model.name, model.version, "READY") for model in self.all()]
        away = [
            Entry(name, None, "UNAVAILABLE", self.faults.get(name, "unloaded"))
            for name in self.names()
            if name not in self.models
        ]
        return sorted(ready + ([] if ready_only else away), key=lambda entry: (entry.name, entry.version or 0))


def _runtime(file: Path, config: Configuration) -> Runtime:
    """Raises InvalidInput for a model that cannot be run, and for a configuration that names other tensors than it has."""
    try:
        runtime = Runtime(file)
    except ExportFault as error:
        raise InvalidInput.one(str(error)) from error
    for noun, said, there in (("input", config.inputs, runtime.inputs), ("output", config.outputs, runtime.outputs)):
        if sorted(said) != sorted(there):
            raise InvalidInput.one(
                f"config.pbtxt has the {noun}s {', '.join(said) or 'none'}, the model has {', '.join(there)}"
            )
    return runtime
