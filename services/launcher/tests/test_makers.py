"""What stands behind the pods, read from objects that bear our labels, whoever wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.launcher.core.cluster.makers import KEEP, read_maker, read_root
from trainyard.launcher.core.manifests import sources


def document(attempt: str, **notes: str) -> dict[str, Any]:
    marks = {"app.kubernetes.io/managed-by": "trainyard", "trainyard.dev/job": "j", "trainyard.dev/attempt": attempt}
    return {"metadata": {"name": "n", "namespace": "ml", "uid": "u", "labels": marks, "annotations": notes}}


@pytest.mark.parametrize("attempt", ["", "abc", "1.5", "9" * 63, "-1"])
def test_an_attempt_that_is_no_number_is_none_of_ours(attempt: str) -> None:
    assert read_root(document(attempt)).attempt == 0
    assert read_maker("batch/v1", "Job", document(attempt)).attempt == 0


@pytest.mark.parametrize("keep", ["nan", "inf", "soon", ""])
def test_how_long_it_stays_is_a_number(keep: str) -> None:
    assert read_root(document("2", **{"trainyard.dev/keep": keep})).keep == KEEP


def test_a_root_as_it_is_written() -> None:
    found = read_root(document("2", **{"trainyard.dev/keep": "60", "trainyard.dev/ended": "1000"}))
    assert (found.job_id, found.attempt, found.keep, found.ended_at) == ("j", 2, 60.0, 1000.0)


@pytest.mark.parametrize(("used", "seconds"), [("1000", 1000.0), ("²", 0.0), ("soon", 0.0), ("", 0.0)])
def test_since_when_a_folder_was_used_is_a_number(used: str, seconds: float) -> None:
    metadata = {"name": "n", "namespace": "ml", "uid": "u", "resourceVersion": "1", "annotations": {sources.USED: used}}
    assert sources.read({"metadata": metadata}).used == seconds
