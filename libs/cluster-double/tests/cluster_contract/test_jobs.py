"""Jobs: how many pods, which pods, and when it is over."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from trainyard.cluster_double.core.objects import Json, condition, has_condition
from trainyard.cluster_double.kubelet import ScriptedKubelet, forever, run
from trainyard.cluster_double.testing.api import Api, eventually
from trainyard.cluster_double.testing.manifests import a_job

TRACKING = "batch.kubernetes.io/job-tracking"


@pytest.fixture
def name() -> str:
    """A job's name, and so the beginning of its pods' names, that nobody else has."""
    return f"job-{uuid.uuid4().hex[:8]}"


def pods_of(api: Api, pods: str, name: str) -> list[Json]:
    found: list[Json] = api.get(pods, labelSelector=f"batch.kubernetes.io/job-name={name}").body["items"]
    return found


def finished(api: Api, path: str, kind: str, seconds: float = 60.0) -> Json:
    eventually(lambda: has_condition(api.get(path).body, kind), seconds)
    return api.get(path).body


def start(api: Api, jobs: str, name: str, **spec: Any) -> str:
    api.made(jobs, a_job(name, **spec))
    return f"{jobs}/{name}"


def test_one_pod_that_ends_well(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    job = finished(api, start(api, jobs, name), "Complete")
    status = job["status"]
    assert (status["succeeded"], status["ready"], status["terminating"]) == (1, 0, 0)
    assert "active" not in status
    assert "failed" not in status
    assert status["startTime"] <= status["completionTime"]
    told = condition(job, "SuccessCriteriaMet")
    assert told is not None
    assert (told["reason"], told["message"]) == ("CompletionsReached", "Reached expected number of succeeded pods")
    eventually(lambda: "finalizers" not in pods_of(api, pods, name)[0]["metadata"])


def test_how_a_job_is_filled_in(api: Api, jobs: str, name: str) -> None:
    made = api.made(jobs, a_job(name, suspend=True))
    spec, uid = made["spec"], made["metadata"]["uid"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
    assert (spec["completionMode"], spec["podReplacementPolicy"]) == ("NonIndexed", "TerminatingOrFailed")
    assert spec["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    labels = spec["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == name
    assert made["metadata"]["labels"] == labels


def test_its_pods_bear_its_marks(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    path = start(api, jobs, name)
    pod = eventually(lambda: pods_of(api, pods, name))[0]
    owner = pod["metadata"]["ownerReferences"][0]
    uid = api.get(path).body["metadata"]["uid"]
    assert owner == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert pod["metadata"]["generateName"] == f"{name}-"
    eventually(lambda: api.get(path).body["status"].get("ready") == 1)
    assert api.get(path).body["status"]["active"] == 1


def test_indexed_pods_know_their_index(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    start(api, jobs, name, completions=3, parallelism=3, completionMode="Indexed")
    found = eventually(lambda: (p := pods_of(api, pods, name)) and len(p) == 3 and p)
    by_index = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod for pod in found}
    assert set(by_index) == {"0", "1", "2"}
    for index, pod in by_index.items():
        assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == index
        assert pod["spec"]["hostname"] == f"{name}-{index}"
        assert pod["metadata"]["name"].startswith(f"{name}-{index}-")
        variable = pod["spec"]["containers"][0]["env"][0]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        field = "metadata.labels['batch.kubernetes.io/job-completion-index']"
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == field


def test_indexes_are_counted_as_they_complete(api: Api, kubelet: ScriptedKubelet, jobs: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-2-*")
    path = start(api, jobs, name, completions=4, parallelism=4, completionMode="Indexed")
    eventually(lambda: api.get(path).body["status"].get("completedIndexes") == "0,1,3")
    assert api.get(path).body["status"]["active"] == 1


def test_parallelism_bounds_the_pods(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    path = start(api, jobs, name, completions=4, parallelism=2)
    eventually(lambda: api.get(path).body["status"].get("active") == 2)
    api.patch(path, {"spec": {"parallelism": 3}})
    eventually(lambda: api.get(path).body["status"].get("active") == 3)
    api.patch(path, {"spec": {"parallelism": 1}})
    eventually(lambda: api.get(path).body["status"].get("active") == 1)
    assert "failed" not in api.get(path).body["status"], "to be one too many is no failure"


def test_failures_beyond_the_limit(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(run(exit_code=3), name=f"{name}-*")
    job = finished(api, start(api, jobs, name, backoffLimit=1), "Failed")
    told = condition(job, "Failed")
    assert told is not None
    assert (told["reason"], told["message"]) == ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert job["status"]["failed"] == 2
    assert has_condition(job, "FailureTarget")
    assert len(pods_of(api, pods, name)) == 2


def test_a_failed_pod_is_replaced(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    seen: set[str] = set()

    def script(pod: Json) -> Any:
        seen.add(pod["metadata"]["name"])
        return run(exit_code=0 if len(seen) > 1 else 1)

    kubelet.plan(script, name=f"{name}-*")
    job = finished(api, start(api, jobs, name), "Complete")
    assert (job["status"]["succeeded"], job["status"]["failed"]) == (1, 1)


def test_a_deadline(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    job = finished(api, start(api, jobs, name, activeDeadlineSeconds=2), "Failed")
    told = condition(job, "Failed")
    assert told is not None
    assert (told["reason"], told["message"]) == ("DeadlineExceeded", "Job was active longer than specified deadline")
    assert job["status"]["failed"] == 1, "what the job stops at its end has failed"
    eventually(lambda: not pods_of(api, pods, name))


def test_suspended_and_resumed(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    path = start(api, jobs, name, suspend=True)
    told = eventually(lambda: condition(api.get(path).body, "Suspended"))
    assert (told["status"], told["reason"], told["message"]) == ("True", "JobSuspended", "Job suspended")
    assert "startTime" not in api.get(path).body["status"]
    assert not pods_of(api, pods, name)
    api.patch(path, {"spec": {"suspend": False}})
    eventually(lambda: api.get(path).body["status"].get("active") == 1)
    resumed = condition(api.get(path).body, "Suspended")
    assert resumed is not None
    assert (resumed["status"], resumed["reason"]) == ("False", "JobResumed")
    assert api.get(path).body["status"]["startTime"]
    api.patch(path, {"spec": {"suspend": True}})
    eventually(lambda: not pods_of(api, pods, name))
    eventually(lambda: "startTime" not in api.get(path).body["status"])
    assert "failed" not in api.get(path).body["status"], "to be suspended is no failure"


def test_a_finished_job_goes_after_its_time(
    api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str
) -> None:
    path = start(api, jobs, name, ttlSecondsAfterFinished=1)
    eventually(lambda: api.get(path).code == 404, 60)
    eventually(lambda: not pods_of(api, pods, name))


def test_what_it_did_is_told(api: Api, kubelet: ScriptedKubelet, ns: str, jobs: str, name: str) -> None:
    finished(api, start(api, jobs, name), "Complete")
    path = f"/api/v1/namespaces/{ns}/events"

    def reasons() -> set[str]:
        items = api.get(path, fieldSelector=f"involvedObject.name={name}").body["items"]
        return {item["reason"] for item in items}

    eventually(lambda: reasons() >= {"SuccessfulCreate", "Completed"})


def test_a_pod_deleted_by_hand_is_replaced(api: Api, kubelet: ScriptedKubelet, jobs: str, pods: str, name: str) -> None:
    kubelet.plan(forever(), name=f"{name}-*")
    start(api, jobs, name)
    first = eventually(lambda: pods_of(api, pods, name))[0]["metadata"]["name"]
    api.delete(f"{pods}/{first}")
    eventually(lambda: any(pod["metadata"]["name"] != first for pod in pods_of(api, pods, name)), 60)
    eventually(lambda: api.get(f"{pods}/{first}").code == 404, 60)


def test_work_without_a_number_ends_with_the_first_success(
    api: Api, kubelet: ScriptedKubelet, jobs: str, name: str
) -> None:
    job = finished(api, start(api, jobs, name, parallelism=2), "Complete")
    assert "completions" not in job["spec"]
    assert job["status"]["succeeded"] == 2
