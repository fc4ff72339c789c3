"""Where the gateway is and who we are: arguments first, then the environment, then this machine's default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from trainyard.common.runtime.settings import BASE_PORT, integer, service_port


@dataclass(frozen=True, slots=True)
class ClientSettings:
    url: str
    token: str | None
    timeout: float = 30.0
    """Seconds for one request; streams have none."""

    @classmethod
    def read(
        cls, url: str | None = None, token: str | None = None, env: Mapping[str, str] | None = None
    ) -> ClientSettings:
        found = os.environ if env is None else env
        base = integer(found, "TRAINYARD_BASE_PORT", BASE_PORT, 1024, 65_000)
        default = f"http://127.0.0.1:{service_port('job-api', base)}"
        return cls(
            url=(url or found.get("TRAINYARD_URL") or default).rstrip("/"),
            token=token or found.get("TRAINYARD_TOKEN"),
        )

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}
