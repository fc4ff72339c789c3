"""The only reader of the environment in this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.images import catalogue


@dataclass(frozen=True, slots=True)
class Settings:
    catalogue: Path
    """Folder with one folder an image."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        return cls(catalogue=catalogue.folder(env))
