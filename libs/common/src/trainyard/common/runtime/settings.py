"""What every service reads from the environment. A service's own `settings.py` adds to it; nobody else reads it.

Ports are a block from one base, so that two yards can run on a machine and a port in use is moved with one variable.
"""

from __future__ import annotations

import getpass
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.errors import InvalidInput

EXIT_CONFIGURATION = 78
"""A service whose configuration is wrong exits with this (EX_CONFIG of sysexits(3)): starting it again does not help."""
BASE_PORT = 8470
SERVICES = ("job-api", "matrix", "launcher", "converter", "monitor")
"""Ports are given in this order, from the base; nats-server comes behind them."""
_LISTEN = {"job-api": "TRAINYARD_LISTEN", "monitor": "TRAINYARD_LISTEN"}
"""Who lets others in asks them for tokens. The others serve health and metrics alone, which ask for none."""


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    service: str
    state: Path
    """The state folder: event store, projections, jobs, images, models. Of a service that runs apart it is its own."""
    logs: Path
    """What jobs say. The launcher writes it and job-api reads it: a folder of both."""
    tokens: Path
    """The digests of API tokens, a file."""
    nats_url: str
    nats_user: str | None
    nats_password: str | None
    host: str
    port: int
    log_format: str
    """`json`, `pretty` or `auto` (pretty on a terminal)."""
    log_level: str
    otlp_endpoint: str | None

    @classmethod
    def from_env(cls, service: str, env: Mapping[str, str]) -> RuntimeSettings:
        base = integer(env, "TRAINYARD_BASE_PORT", BASE_PORT, 1024, 65_000)
        state = Path(env.get("TRAINYARD_STATE", ".yard")).absolute()
        return cls(
            service=service,
            state=state,
            logs=Path(env.get("TRAINYARD_LOGS") or state / "logs").absolute(),
            tokens=Path(env.get("TRAINYARD_TOKENS") or state / "tokens.json").absolute(),
            nats_url=env.get("NATS_URL", f"nats://127.0.0.1:{nats_port(base)}"),
            nats_user=env.get("NATS_USER"),
            nats_password=env.get("NATS_PASSWORD"),
            host=env.get(_LISTEN.get(service, "TRAINYARD_HEALTH_LISTEN")) or "127.0.0.1",
            port=service_port(service, base),
            log_format=choice(env, "TRAINYARD_LOG_FORMAT", "auto", ("auto", "json", "pretty")),
            log_level=choice(env, "TRAINYARD_LOG_LEVEL", "info", ("debug", "info", "warning", "error")),
            otlp_endpoint=env.get("OTEL_EXPORTER_OTLP_ENDPOINT"),
        )


def service_port(service: str, base: int = BASE_PORT) -> int:
    return base + SERVICES.index(service)


def nats_port(base: int = BASE_PORT) -> int:
    return base + len(SERVICES)


def data_port(base: int = BASE_PORT) -> int:
    """Of the data server, which is no service: it speaks Arrow Flight alone."""
    return base + len(SERVICES) + 1


def local_user() -> str:
    """Whose requests those without a token are, on loopback."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in many containers
        return "local"


def is_loopback(host: str) -> bool:
    """`localhost`, 127.0.0.0/8 and ::1: nobody but this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def integer(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = env.get(name)
    if text is None or text == "":
        return default
    try:
        value = int(text)
    except ValueError:
        raise InvalidInput.one(f"{text!r} is not a whole number", name) from None
    if not low <= value <= high:
        raise InvalidInput.one(f"{value} is out of range", name, f"{low} to {high}")
    return value


def choice(env: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = env.get(name, default) or default
    if value not in allowed:
        raise InvalidInput.one(f"{value!r} is not known", name, f"one of {', '.join(allowed)}")
    return value
