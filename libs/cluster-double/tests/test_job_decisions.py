"""What a job needs next, as tables: no server, no clock."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.core.jobs import indexes
from trainyard.cluster_double.core.jobs.decide import Decision, New, decide
from trainyard.cluster_double.core.objects import Json, stamp
from trainyard.cluster_double.core.rules import jobs as rules
from trainyard.cluster_double.testing.manifests import a_job

NOW = 1_750_000_000.0
BACKOFF = 10.0


def a_stored_job(status: Json | None = None, **spec: Any) -> Json:
    job = rules.with_defaults(a_job("j", **spec))
    job["metadata"] |= {"uid": "u", "namespace": "n"}
    return {**job, "status": status or {}}


def a_pod_of(index: int | None = None, phase: str = "Running", *, ended: float = 0.0, **metadata: Any) -> Json:
    annotations = {} if index is None else {rules.INDEX: str(index)}
    state = {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": stamp(NOW - ended)}}
    statuses = [{"name": "main", "state": state}] if phase in {"Succeeded", "Failed"} else []
    return {
        "metadata": {
            "name": f"p{index}",
            "creationTimestamp": stamp(NOW - 100),
            "annotations": annotations,
            "finalizers": [rules.TRACKING],
            **metadata,
        },
        "status": {"phase": phase, "containerStatuses": statuses},
    }


def conditions(decision: Decision) -> dict[str, str]:
    return {one["type"]: one["reason"] for one in decision.status.get("conditions", ()) if one["status"] == "True"}


def test_a_new_job_starts() -> None:
    decision = decide(a_stored_job(), [], NOW, BACKOFF)
    assert decision.create == [New()]
    assert decision.status["startTime"] == stamp(NOW)
    assert decision.status["active"] == 1


def test_indexes_that_are_free_are_filled_lowest_first() -> None:
    job = a_stored_job(completions=5, parallelism=3, completionMode="Indexed")
    decision = decide(job, [a_pod_of(1)], NOW, BACKOFF)
    assert [new.index for new in decision.create] == [0, 2]


def test_a_failure_waits_and_then_longer() -> None:
    once = decide(a_stored_job(), [a_pod_of(None, "Failed", ended=4)], NOW, BACKOFF)
    assert once.create == []
    assert once.again == pytest.approx(6)
    twice = decide(a_stored_job(), [a_pod_of(None, "Failed", ended=9), a_pod_of(None, "Failed", ended=4)], NOW, BACKOFF)
    assert twice.again == pytest.approx(16)
    later = decide(a_stored_job(), [a_pod_of(None, "Failed", ended=11)], NOW, BACKOFF)
    assert later.create == [New()]


def test_the_limit_counts_failures() -> None:
    pods = [a_pod_of(None, "Failed"), a_pod_of(None, "Failed"), a_pod_of()]
    decision = decide(a_stored_job(parallelism=2, completions=2, backoffLimit=1), pods, NOW, BACKOFF)
    assert conditions(decision) == {"FailureTarget": "BackoffLimitExceeded"}
    assert [pod["status"]["phase"] for pod in decision.delete] == ["Running"]
    assert decision.status["failed"] == 2


def test_an_ending_job_is_over_when_its_pods_are() -> None:
    told = [{"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "late"}]
    job = a_stored_job({"conditions": told, "startTime": stamp(NOW)})
    waiting = decide(job, [a_pod_of(deletionTimestamp=stamp(NOW))], NOW, BACKOFF)
    assert "Failed" not in conditions(waiting)
    over = decide(job, [], NOW, BACKOFF)
    assert conditions(over)["Failed"] == "DeadlineExceeded"


def test_nothing_is_counted_twice() -> None:
    pod = a_pod_of(None, "Succeeded")
    pod["metadata"]["finalizers"] = []
    job = a_stored_job({"succeeded": 1, "startTime": stamp(NOW)}, completions=2)
    assert decide(job, [pod], NOW, BACKOFF).status["succeeded"] == 1


def test_a_deadline_is_looked_at_in_time() -> None:
    job = a_stored_job({"startTime": stamp(NOW - 5)}, activeDeadlineSeconds=8)
    assert decide(job, [a_pod_of()], NOW, BACKOFF).again == pytest.approx(3)
    assert conditions(decide(job, [a_pod_of()], NOW + 3, BACKOFF)) == {"FailureTarget": "DeadlineExceeded"}


def test_a_replacement_may_have_to_wait_for_the_end() -> None:
    going = a_pod_of(deletionTimestamp=stamp(NOW))
    at_once = decide(a_stored_job(), [going], NOW + 200, BACKOFF)
    assert at_once.create == [New()]
    patient = decide(a_stored_job(podReplacementPolicy="Failed"), [going], NOW + 200, BACKOFF)
    assert patient.create == []


@pytest.mark.parametrize(
    ("numbers", "text"), [(set(), ""), ({3}, "3"), ({0, 1}, "0,1"), ({0, 1, 2, 5, 7, 8}, "0-2,5,7,8")]
)
def test_indexes_are_written_in_runs(numbers: set[int], text: str) -> None:
    assert indexes.written(numbers) == text
    assert indexes.read(text) == numbers
