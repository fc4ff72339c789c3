"""Fixtures for every package's tests, loaded by the conftest.py at the root. The server is imported only where it is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from trainyard.cluster_double.server import ClusterDouble


@pytest.fixture
def cluster_double() -> Iterator[ClusterDouble]:
    """A fresh Kubernetes API; failed pods of a job are replaced without the minutes of a real cluster."""
    from trainyard.cluster_double.server import ClusterDouble, Settings  # noqa: PLC0415

    with ClusterDouble(Settings(job_backoff_seconds=0.2, bookmark_seconds=0.5)) as double:
        yield double


@pytest.fixture
def cluster_kubeconfig(cluster_double: ClusterDouble, tmp_path: Path) -> Path:
    return cluster_double.kubeconfig(tmp_path)
