"""The proof of a conversion through a Triton that runs elsewhere (TRAINYARD_TRITON_URL)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http

from trainyard.common.errors import TrainyardError
from trainyard.converter.adapters.serving_check import TritonServingCheck

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5]], np.float32)


async def test_a_model_is_proven_where_our_folders_are_not_seen(
    host: Any, add_affine: Callable[..., int], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    add_affine(tmp_path)
    asking = TritonServingCheck(host.http).ask(tmp_path, "affine", {"x": X})
    if "yard serve" in request.node.name:
        with pytest.raises(TrainyardError, match="models are loaded from the repository only"):
            await asking
        return
    endpoint, server, outputs = await asking
    assert (endpoint, server.split()[0]) == (host.http, "triton")
    assert np.array_equal(outputs["y"], 2 * X + 1)
    with tritonclient.http.InferenceServerClient(host.http) as client:
        assert not [item for item in client.get_model_repository_index() if "-proof-" in item["name"]]
