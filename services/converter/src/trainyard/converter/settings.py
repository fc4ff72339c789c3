"""The only reader of the environment in this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainyard.common.images import catalogue
from trainyard.common.runtime.settings import RuntimeSettings
from trainyard.converter.core.claims import Claims


@dataclass(frozen=True, slots=True)
class Settings:
    state: Path
    catalogue: Path
    converters: Path
    """Recipes of the environments that hold a framework and what exports it."""
    triton: str | None
    """`host:port` of a Triton to prove against; None: the embedded server."""
    trtexec: str | None = None
    """NVIDIA's program that builds engines; None: the one on PATH."""
    claims: Claims = field(default_factory=Claims)
    """Where the claims that hold what jobs of a cluster wrote are mounted here."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        return cls(
            state=RuntimeSettings.from_env("converter", env).state,
            catalogue=catalogue.folder(env),
            converters=Path(env.get("TRAINYARD_CONVERTERS") or catalogue.folder(env).parent / "converters"),
            triton=env.get("TRAINYARD_TRITON_URL") or None,
            trtexec=env.get("TRAINYARD_TRTEXEC") or None,
            claims=Claims.read(env.get("TRAINYARD_CLAIMS") or ""),
        )
