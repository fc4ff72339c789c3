"""The only reader of the environment in this service."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import RuntimeSettings, local_user, service_port


@dataclass(frozen=True, slots=True)
class Settings:
    host: str
    node: str
    interval: float
    """Seconds between two samples of the devices."""
    local_owner: str
    tokens: Tokens
    api_url: str
    """Where job-api is; the panel's requests for it are handed on."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        runtime = RuntimeSettings.from_env("monitor", env)
        tokens = Tokens(runtime.state)
        tokens.require_for(runtime.host)
        base = runtime.port - service_port("monitor", 0)
        return cls(
            host=runtime.host,
            node=env.get("TRAINYARD_NODE") or socket.gethostname(),
            interval=2.0,
            local_owner=local_user(),
            tokens=tokens,
            api_url=f"http://{runtime.host}:{service_port('job-api', base)}",
        )
