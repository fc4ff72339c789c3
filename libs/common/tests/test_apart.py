"""Services of one machine share its state folder; services that run apart are told what they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.runtime.settings import SERVICES, RuntimeSettings


def test_logs_and_tokens_lie_in_the_state_folder_where_nothing_is_said(tmp_path: Path) -> None:
    settings = RuntimeSettings.from_env("job-api", {"TRAINYARD_STATE": str(tmp_path)})
    assert (settings.logs, settings.tokens) == (tmp_path / "logs", tmp_path / "tokens.json")


def test_logs_and_tokens_may_lie_elsewhere(tmp_path: Path) -> None:
    env = {"TRAINYARD_STATE": "/state", "TRAINYARD_LOGS": "/logs", "TRAINYARD_TOKENS": str(tmp_path / "t.json")}
    settings = RuntimeSettings.from_env("job-api", env)
    assert (settings.logs, settings.tokens) == (Path("/logs"), tmp_path / "t.json")
    token = Tokens(settings.tokens).create("ann")
    assert Tokens(tmp_path / "t.json").owner_of(token) == "ann"


@pytest.mark.parametrize("service", SERVICES)
def test_an_address_for_health_alone_opens_no_gateway(service: str) -> None:
    settings = RuntimeSettings.from_env(service, {"TRAINYARD_HEALTH_LISTEN": "192.0.2.1"})
    assert settings.host == ("127.0.0.1" if service in {"job-api", "monitor"} else "192.0.2.1")
    settings = RuntimeSettings.from_env(service, {"TRAINYARD_LISTEN": "192.0.2.1"})
    assert settings.host == ("192.0.2.1" if service in {"job-api", "monitor"} else "127.0.0.1")


def test_no_token_passes_for_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="owns the jobs of TrainingJobs"):
        Tokens(tmp_path / "t.json").create("kubernetes/kube-system")
