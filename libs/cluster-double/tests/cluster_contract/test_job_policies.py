"""What a failure means for its job: by exit code, by condition, by index; and when enough has succeeded."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from trainyard.cluster_double.core.objects import Json, condition, has_condition
from trainyard.cluster_double.kubelet import ScriptedKubelet, forever, pushed_out, run
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_job

INDEXED = {"completionMode": "Indexed"}


@pytest.fixture
def name() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"


def start(api: Api, jobs: str, name: str, **spec: Any) -> str:
    api.made(jobs, a_job(name, **spec))
    return f"{jobs}/{name}"


def finished(api: Api, path: str, kind: str) -> Json:
    eventually(lambda: has_condition(api.get(path).body, kind), 90)
    return api.get(path).body


def by_code(action: str, *codes: int) -> Json:
    return {"action": action, "onExitCodes": {"operator": "In", "values": list(codes)}}


def test_an_exit_code_that_fails_the_job(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    kubelet.plan(run(exit_code=42), name=f"{name}-*")
    job = finished(api, start(api, jobs, name, podFailurePolicy={"rules": [by_code("FailJob", 42)]}), "Failed")
    told = condition(job, "Failed")
    assert told is not None
    assert told["reason"] == "PodFailurePolicy"
    assert told["message"].startswith("Container main for pod ")
    assert told["message"].endswith(" failed with exit code 42 matching FailJob rule at index 0")
    assert job["status"]["failed"] == 1


def test_a_disruption_that_does_not_count(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    seen: set[str] = set()

    def script(pod: Json) -> Any:
        seen.add(pod["metadata"]["name"])
        return run() if len(seen) > 1 else pushed_out()

    kubelet.plan(script, name=f"{name}-*")
    ignore = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    path = start(api, jobs, name, backoffLimit=0, podFailurePolicy={"rules": [ignore]})
    job = finished(api, path, "Complete")
    assert "failed" not in job["status"]
    assert len(seen) == 2


def test_every_index_has_its_own_limit(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    kubelet.plan(run(exit_code=1), name=f"{name}-1-*")
    path = start(api, jobs, name, completions=3, parallelism=3, backoffLimitPerIndex=0, **INDEXED)
    job = finished(api, path, "Failed")
    assert job["status"]["completedIndexes"] == "0,2"
    assert job["status"]["failedIndexes"] == "1"
    told = condition(job, "Failed")
    assert told is not None
    assert (told["reason"], told["message"]) == ("FailedIndexes", "Job has failed indexes")
    assert job["spec"]["backoffLimit"] == 2**31 - 1


def test_an_index_is_tried_again(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(run(exit_code=1), name=f"{name}-0-*")
    path = start(api, jobs, name, completions=1, parallelism=1, backoffLimitPerIndex=1, **INDEXED)
    job = finished(api, path, "Failed")
    assert job["status"]["failed"] == 2
    found = api.get(pods, labelSelector=f"job-name={name}").body["items"]
    counts = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] for pod in found}
    assert counts == {"0", "1"}


def test_too_many_failed_indexes(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    for index in (0, 1):
        kubelet.plan(run(exit_code=1), name=f"{name}-{index}-*")
    path = start(api, jobs, name, completions=3, parallelism=3, backoffLimitPerIndex=0, maxFailedIndexes=1, **INDEXED)
    told = condition(finished(api, path, "Failed"), "Failed")
    assert told is not None
    assert told["reason"] == "MaxFailedIndexesExceeded"


def test_an_exit_code_that_fails_its_index(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    kubelet.plan(run(exit_code=9), name=f"{name}-0-*")
    policy = {"rules": [by_code("FailIndex", 9)]}
    path = start(
        api, jobs, name, completions=2, parallelism=2, backoffLimitPerIndex=5, podFailurePolicy=policy, **INDEXED
    )
    job = finished(api, path, "Failed")
    assert (job["status"]["failedIndexes"], job["status"]["failed"]) == ("0", 1)


def test_the_chief_is_enough(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    kubelet.plan(run(), name=f"{name}-0-*")
    policy = {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}
    job = finished(
        api, start(api, jobs, name, completions=3, parallelism=3, successPolicy=policy, **INDEXED), "Complete"
    )
    told = condition(job, "Complete")
    assert told is not None
    assert (told["reason"], told["message"]) == ("SuccessPolicy", "Matched rules at index 0")
    assert job["status"]["succeeded"] == 1
    assert "failed" not in job["status"], "what a success leaves over has not failed"
    eventually(lambda: len(api.get(pods, labelSelector=f"job-name={name}").names) == 1)


def test_restarts_in_place_count_too(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    kubelet.plan(run(exit_code=1), name=f"{name}-*")
    path = start(api, jobs, name, pod={"restartPolicy": "OnFailure"}, backoffLimit=2)
    told = condition(finished(api, path, "Failed"), "Failed")
    assert told is not None
    assert told["reason"] == "BackoffLimitExceeded"


def test_a_policy_needs_pods_that_do_not_restart(api: Api, jobs: str, name: str) -> None:
    policy = {"rules": [by_code("FailJob", 1)]}
    reply = api.post(jobs, a_job(name, pod={"restartPolicy": "OnFailure"}, podFailurePolicy=policy))
    assert reply.code == 422
    assert reply.causes[0]["field"] == "spec.template.spec.restartPolicy"


def test_an_own_limit_needs_indexes(api: Api, jobs: str, name: str) -> None:
    reply = api.post(jobs, a_job(name, backoffLimitPerIndex=1))
    assert (reply.code, reply.causes[0]["field"]) == (422, "spec.backoffLimitPerIndex")
