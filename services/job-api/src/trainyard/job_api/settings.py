"""The only reader of the environment in this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import RuntimeSettings, choice, local_user


@dataclass(frozen=True, slots=True)
class Settings:
    state: Path
    host: str
    port: int
    local_owner: str
    """Whose jobs they are when a request on loopback carries no token."""
    check_workdir: bool
    """Look for a job's folder at submission; off where the launcher's machines do not share this one's files."""
    tokens: Tokens

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        runtime = RuntimeSettings.from_env("job-api", env)
        tokens = Tokens(runtime.state)
        tokens.require_for(runtime.host)
        return cls(
            state=runtime.state,
            host=runtime.host,
            port=runtime.port,
            local_owner=local_user(),
            check_workdir=choice(env, "TRAINYARD_CHECK_WORKDIR", "on", ("on", "off")) == "on",
            tokens=tokens,
        )
