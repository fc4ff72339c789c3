"""What a job wrote into a claim of a cluster is found where the claim is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.claims import Claims
from trainyard.converter.settings import Settings

CLAIMS = Claims.read("jobs/outputs=/outputs, other/o=/o")


@pytest.mark.parametrize(
    ("place", "folder"),
    [
        ("/work/model", "/work/model"),
        ("pvc://jobs/outputs/job_1/output", "/outputs/job_1/output"),
        ("pvc://other/o/job_1/output", "/o/job_1/output"),
    ],
)
def test_a_place_is_found_on_this_side(place: str, folder: str) -> None:
    assert CLAIMS.local(place) == Path(folder)


@pytest.mark.parametrize("place", ["pvc://jobs/another/job_1", "pvc://elsewhere/outputs/job_1", "pvc://"])
def test_a_claim_that_is_not_mounted_is_told_with_what_would_work(place: str) -> None:
    with pytest.raises(InvalidInput, match=r"not mounted in the converter.*TRAINYARD_CLAIMS="):
        CLAIMS.local(place)


def test_a_place_stays_in_its_claim() -> None:
    with pytest.raises(InvalidInput, match="leads out of its claim"):
        CLAIMS.local("pvc://jobs/outputs/../../etc")


@pytest.mark.parametrize("text", ["outputs=/outputs", "a/b", "a/b=relative", "a/b/c=/x", "/b=/x"])
def test_nonsense_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput, match="TRAINYARD_CLAIMS"):
        Settings.from_env({"TRAINYARD_CLAIMS": text})
