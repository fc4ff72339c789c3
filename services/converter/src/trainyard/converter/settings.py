"""The only reader of the environment in this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.images import catalogue
from trainyard.common.runtime.settings import RuntimeSettings


@dataclass(frozen=True, slots=True)
class Settings:
    state: Path
    catalogue: Path
    triton: str | None
    """`host:port` of a Triton to prove against; None: the embedded server."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        return cls(
            state=RuntimeSettings.from_env("converter", env).state,
            catalogue=catalogue.folder(env),
            triton=env.get("TRAINYARD_TRITON_URL") or None,
        )
