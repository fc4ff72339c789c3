"""The only reader of the environment in this service."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from trainyard.common.errors import InvalidInput
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
        tokens = Tokens(runtime.tokens)
        tokens.require_for(runtime.host)
        base = runtime.port - service_port("monitor", 0)
        return cls(
            host=runtime.host,
            node=env.get("TRAINYARD_NODE") or socket.gethostname(),
            interval=2.0,
            local_owner=local_user(),
            tokens=tokens,
            api_url=_url(env) or f"http://{runtime.host}:{service_port('job-api', base)}",
        )


def _url(env: Mapping[str, str]) -> str:
    """TRAINYARD_API_URL; empty where job-api is a process beside this one."""
    url = (env.get("TRAINYARD_API_URL") or "").rstrip("/")
    if url and not (urlsplit(url).scheme in {"http", "https"} and urlsplit(url).netloc):
        raise InvalidInput.one(f"{url!r} is no address of job-api", "TRAINYARD_API_URL", "such as http://job-api:8470")
    return url
