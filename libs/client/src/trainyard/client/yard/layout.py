"""What the embedded yard consists of, as values: which programs, with which environment, ready when. Starts nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.errors import InvalidInput
from trainyard.common.runtime.settings import (
    BASE_PORT,
    SERVICES,
    RuntimeSettings,
    data_port,
    integer,
    is_loopback,
    nats_port,
    service_port,
)

_MODULES = {"job-api": "trainyard.job_api", **{name: f"trainyard.{name}" for name in SERVICES if name != "job-api"}}


@dataclass(frozen=True, slots=True)
class Child:
    name: str
    command: tuple[str, ...]
    port: int
    health: str | None
    """The URL that answers 200 when it is ready; None: ready when the port takes connections."""
    alive: str | None = None
    """The URL that answers 200 as long as it works at all; None: nobody asks."""


@dataclass(frozen=True, slots=True)
class Layout:
    state: Path
    base_port: int
    listen: str
    nats_listen: str
    nats_user: str | None
    nats_password: str | None
    tokens: Path

    @classmethod
    def read(cls, env: Mapping[str, str]) -> Layout:
        """Raises InvalidInput where others could reach something that asks for no credentials."""
        runtime = RuntimeSettings.from_env("job-api", env)
        layout = cls(
            state=runtime.state,
            tokens=runtime.tokens,
            base_port=integer(env, "TRAINYARD_BASE_PORT", BASE_PORT, 1024, 65_000),
            listen=env.get("TRAINYARD_LISTEN", "127.0.0.1"),
            nats_listen=env.get("TRAINYARD_NATS_LISTEN", "127.0.0.1"),
            nats_user=env.get("NATS_USER"),
            nats_password=env.get("NATS_PASSWORD"),
        )
        if not is_loopback(layout.nats_listen) and not (layout.nats_user and layout.nats_password):
            raise InvalidInput.one(
                f"{layout.nats_listen} can be reached from other machines",
                "TRAINYARD_NATS_LISTEN",
                "set NATS_USER and NATS_PASSWORD, or listen on 127.0.0.1",
            )
        return layout

    @property
    def lock(self) -> Path:
        return self.state / "yard.lock"

    @property
    def record(self) -> Path:
        """Process ids and start times of the supervisor and its children."""
        return self.state / "yard.json"

    @property
    def logs(self) -> Path:
        return self.state / "run"

    @property
    def nats_config(self) -> Path:
        return self.state / "nats" / "server.conf"

    def url(self, service: str) -> str:
        host = self.listen if service in {"job-api", "monitor"} else "127.0.0.1"
        host = "127.0.0.1" if host in {"0.0.0.0", "localhost"} else host  # noqa: S104 - compared, not bound
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{service_port(service, self.base_port)}"

    def nats(self) -> Child:
        server = Path(sys.executable).with_name("nats-server")
        return Child("nats-server", (str(server), "-c", str(self.nats_config)), nats_port(self.base_port), None)

    def services(self) -> tuple[Child, ...]:
        return tuple(
            Child(
                name,
                (sys.executable, "-m", _MODULES[name]),
                service_port(name, self.base_port),
                f"{self.url(name)}/readyz",
                f"{self.url(name)}/healthz",
            )
            for name in SERVICES
        )

    def data(self) -> Child:
        """To this machine alone, as nats-server is; `yard data serve` lets others in."""
        command = (sys.executable, "-m", "trainyard.client", "data", "serve")
        return Child("data", command, data_port(self.base_port), None)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """What every child gets: the caller's environment, completed."""
        return {
            "TRAINYARD_LOG_FORMAT": "json",
            **inherited,
            "TRAINYARD_STATE": str(self.state),
            "TRAINYARD_BASE_PORT": str(self.base_port),
            "TRAINYARD_DATA": inherited.get("TRAINYARD_DATA") or f"grpc://127.0.0.1:{data_port(self.base_port)}",
            "NATS_URL": f"nats://127.0.0.1:{nats_port(self.base_port)}",
        }

    def nats_configuration(self) -> str:
        """nats-server's own format. Strings are quoted as JSON, which it reads."""
        lines = [
            "server_name: trainyard",
            f"listen: {_quoted(f'{self.nats_listen}:{nats_port(self.base_port)}')}",
            "max_payload: 1MB",
            "jetstream {",
            f"  store_dir: {_quoted(str(self.nats_config.parent))}",
            # What was acknowledged is in the page cache and survives kill -9; this bounds what a power cut takes.
            "  sync_interval: 10s",
            "}",
        ]
        if self.nats_user and self.nats_password:
            lines.append(
                f"authorization {{ user: {_quoted(self.nats_user)}, password: {_quoted(self.nats_password)} }}"
            )
        return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
