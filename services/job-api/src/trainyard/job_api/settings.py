"""The only reader of the environment in this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainyard.common.contract import jobfile
from trainyard.common.contract.explain import validate
from trainyard.common.contract.templates import OperatorLimits
from trainyard.common.errors import InvalidInput
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
    """Look for a job's folder at submission; off where those who submit work on other machines."""
    tokens: Tokens
    logs: Path
    """Where the launcher writes what jobs say."""
    sends_sources: bool = False
    """Jobs run on machines that do not see this one's folders: on a cluster, or with another yard's launcher."""
    templates: Path = field(default_factory=lambda: _templates({}))
    """The folder of the templates that ship with Trainyard."""
    limits: OperatorLimits = field(default_factory=OperatorLimits)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        runtime = RuntimeSettings.from_env("job-api", env)
        tokens = Tokens(runtime.tokens)
        tokens.require_for(runtime.host)
        check = choice(env, "TRAINYARD_CHECK_WORKDIR", "on", ("on", "off")) == "on"
        return cls(
            state=runtime.state,
            host=runtime.host,
            port=runtime.port,
            local_owner=local_user(),
            check_workdir=check,
            sends_sources=not check or env.get("TRAINYARD_BACKEND") == "kubernetes",
            tokens=tokens,
            logs=runtime.logs,
            templates=_templates(env),
            limits=_limits(env),
        )


def _templates(env: Mapping[str, str]) -> Path:
    """TRAINYARD_TEMPLATES, or `deploy/templates` of the clone that this code runs from."""
    configured = env.get("TRAINYARD_TEMPLATES")
    if configured:
        if not Path(configured).is_dir():
            raise InvalidInput.one(f"there is no folder {configured}", "TRAINYARD_TEMPLATES")
        return Path(configured)
    for parent in Path(__file__).resolve().parents:
        if (parent / "deploy" / "templates").is_dir():
            return parent / "deploy" / "templates"
    return Path("deploy/templates").absolute()


def _limits(env: Mapping[str, str]) -> OperatorLimits:
    file = env.get("TRAINYARD_TEMPLATE_LIMITS")
    if not file:
        return OperatorLimits()
    try:
        return validate(OperatorLimits, jobfile.parse_yaml(Path(file).read_bytes()))
    except OSError as error:
        raise InvalidInput.one(f"{file} cannot be read: {error.strerror}", "TRAINYARD_TEMPLATE_LIMITS") from error
    except InvalidInput as error:
        raise InvalidInput.one(f"{file}: {error}", "TRAINYARD_TEMPLATE_LIMITS") from error
