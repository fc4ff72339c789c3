"""Says whether a real control plane was tried."""

from __future__ import annotations

import os

import pytest

from trainyard.cluster_double.testing.api import Api


@pytest.mark.skipif(
    not os.environ.get("TRAINYARD_TEST_KUBECONFIG"),
    reason="TRAINYARD_TEST_KUBECONFIG names no control plane: the contract was tried on the double alone",
)
def test_a_real_control_plane_answers(api: Api) -> None:
    assert api.get("/version").body["gitVersion"].startswith("v1.")
