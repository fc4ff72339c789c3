"""The only reader of the environment in this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainyard.common.images import catalogue, pins


@dataclass(frozen=True, slots=True)
class Settings:
    catalogue: Path
    """Folder with one folder an image."""
    pins: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Image → reference and digest of what was pushed, before what the catalogue says."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        return cls(catalogue=catalogue.folder(env), pins=pins.read(env))
