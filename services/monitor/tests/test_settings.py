"""Where the monitor finds job-api: beside it, or where it is told."""

from __future__ import annotations

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.monitor.settings import Settings


def test_job_api_is_beside_it_where_nothing_is_said() -> None:
    assert Settings.from_env({"TRAINYARD_BASE_PORT": "9000"}).api_url == "http://127.0.0.1:9000"


def test_job_api_may_run_apart() -> None:
    assert Settings.from_env({"TRAINYARD_API_URL": "http://yard-job-api:8470/"}).api_url == "http://yard-job-api:8470"


@pytest.mark.parametrize("url", ["job-api:8470", "ftp://job-api", "http://"])
def test_nonsense_is_refused_by_name(url: str) -> None:
    with pytest.raises(InvalidInput, match="TRAINYARD_API_URL"):
        Settings.from_env({"TRAINYARD_API_URL": url})
