"""The models of a repository on disk: loaded, unloaded and listed as Triton does in explicit model control.

A model is served when all of its chosen versions are there, and what was served before stays until then. An ensemble brings
the models of its steps along, and is served as long as all of them are. Names and versions come from the network: only what
the repository itself lists is opened.
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
from trainyard.converter.adapters.repository import versions
from trainyard.converter.core import ensembles as rules
from trainyard.converter.core.ensembles import Ensemble
from trainyard.converter.serving import configuration, ensembles, sessions, warming
from trainyard.converter.serving.configuration import Configuration
from trainyard.converter.serving.models import Model
from trainyard.converter.serving.response_cache import ResponseCache

log = structlog.get_logger()
NOTHING: Mapping[str, object] = MappingProxyType({})


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
    _ensembles: dict[str, Ensemble] = field(default_factory=dict)
    """Those that are loaded."""
    _asked: set[str] = field(default_factory=set)
    """Models that were loaded for their own sake, not for an ensemble's."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def names(self) -> list[str]:
        return sorted(item.parent.name for item in self.folder.glob(f"*/{configuration.FILE}"))

    def load_all(self) -> None:
        for name in self.names():
            try:
                self.load(name)
            except (InvalidInput, NotFound) as error:
                log.warning("model refused", model=name, error=str(error))

    def load(self, name: str, parameters: Mapping[str, object] = NOTHING) -> None:
        """Its versions by its policy, in place of what was served before. Raises NotFound, InvalidInput."""
        # In Triton a request may bring a configuration or whole files; what is served here was proven and lies on disk.
        if parameters:
            raise InvalidInput.one("models are loaded from the repository only; `parameters` are not taken")
        if name not in self.names():
            raise NotFound(f"there is no model {name!r} in the repository")
        with self._lock:
            try:
                self._load(name, ())
            except InvalidInput as error:
                raise InvalidInput.one(f"model {name!r} cannot be loaded: {error}") from error
            self._asked.add(name)
            self._check_ensembles_of(name)

    def _load(self, name: str, within: tuple[str, ...]) -> None:
        """`within`: the ensembles that it is loaded for."""
        try:
            if name in within:
                raise InvalidInput.one(f"the ensembles {', '.join(within)} contain one another")
            self._read(name, within)
        except InvalidInput as error:
            if name not in self.models:
                self.faults[name] = str(error)
            raise

    def _read(self, name: str, within: tuple[str, ...]) -> None:
        folder = self.folder / name
        config = configuration.read(folder)
        chosen = config.versions(versions(folder))
        ensemble = ensembles.read(config)
        if ensemble is not None:
            for model in ensemble.models:
                if model not in self.models and model in self.names():
                    self._load_step(model, (*within, name))
            self._check(ensemble)
        self.models[name] = {version: self._opened(config, version, ensemble) for version in chosen}
        self._ensembles.pop(name, None)
        if ensemble is not None:
            self._ensembles[name] = ensemble
        self.faults.pop(name, None)
        log.info("model loaded", model=name, versions=chosen, notes=list(config.notes))

    def _opened(self, config: Configuration, version: int, ensemble: Ensemble | None) -> Model:
        """Warm, and ready to be asked."""
        folder = self.folder / config.name
        if ensemble is not None:  # without a cache: its steps may be other models by the next request
            model = Model(config, version, ensembles.compute(ensemble, self.get))
        else:
            cache = ResponseCache() if config.message.response_cache.enable else None
            model = Model(config, version, sessions.compute(config, version, folder), cache)
        warming.warm(model, folder)
        return model

    def _load_step(self, name: str, within: tuple[str, ...]) -> None:
        try:
            self._load(name, within)
        except InvalidInput as error:
            raise InvalidInput.one(f"its step {name!r} cannot be loaded: {error}") from error

    def _check(self, ensemble: Ensemble) -> None:
        served = {
            name: ensembles.described(next(iter(self.models[name].values())).configuration)
            for name in ensemble.models
            if name in self.models and name != ensemble.config.name
        }
        try:
            rules.check(ensemble, served)
            for step in ensemble.steps:
                if step.version != rules.NEWEST and step.version not in self.models[step.model]:
                    raise InvalidInput.one(f"version {step.version} of the model is not served", step.where)
        except InvalidInput as error:
            raise InvalidInput.one(str(error), f"ensemble {ensemble.config.name}") from error

    def _check_ensembles_of(self, name: str) -> None:
        """Those that have this model as a step, which is another one now."""
        for ensemble in [item for item in self._ensembles.values() if name in item.models]:
            try:
                self._check(ensemble)
            except InvalidInput as error:
                self.faults[ensemble.config.name] = str(error)
                self._forget(ensemble.config.name)

    def unload(self, name: str, parameters: Mapping[str, object] = NOTHING) -> None:
        """Nothing is wrong with a model that is not loaded: who asks wants it gone, and it is. With `unload_dependents` the
        models of an ensemble's steps go as well, where nobody has asked for them and no other ensemble has them."""
        with self._lock:
            ensemble = self._ensembles.get(name)
            self._forget(name)
            self._asked.discard(name)
            self.faults.pop(name, None)
            if ensemble is not None and parameters.get("unload_dependents") is True:
                used = {model for item in self._ensembles.values() for model in item.models}
                for model in set(ensemble.models) - used - self._asked:
                    self.unload(model, parameters)

    def _forget(self, name: str) -> None:
        self.models.pop(name, None)
        self._ensembles.pop(name, None)

    def obstacle(self, name: str) -> str | None:
        """Why a model is not served now; None: it is."""
        if name not in self.models:
            told = self.faults.get(name)
            return f"model {name!r} is not loaded{': ' + told if told else ''}"
        ensemble = self._ensembles.get(name)
        missing = [why for model in ensemble.models if (why := self.obstacle(model))] if ensemble else []
        return f"a step of {name!r} is missing: {missing[0]}" if missing else None

    def get(self, name: str, version: str | None = None) -> Model:
        """The newest version where none is named. Raises NotFound, and InvalidInput for what is no version."""
        found = self.models.get(name)
        obstacle = self.obstacle(name)
        if obstacle or found is None:
            there = found is not None or name in self.names()
            raise NotFound(obstacle if obstacle and there else f"there is no model {name!r}")
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
        known = sorted({*self.names(), *self.models})
        why = {name: self.obstacle(name) for name in known}
        ready = [Entry(model.name, model.version, "READY") for model in self.all() if not why.get(model.name)]
        away = [
            Entry(name, None, "UNAVAILABLE", self.faults.get(name) or (told if name in self.models else "unloaded"))
            for name, told in why.items()
            if told
        ]
        return sorted(ready + ([] if ready_only else away), key=lambda entry: (entry.name, entry.version or 0))
