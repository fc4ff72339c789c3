"""The table of shapes, and what each makes of the same job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, Offers, build
from trainyard.launcher.core.manifests.shapes import Shape, shape

Make = Callable[..., Job]
PS: dict[str, Any] = {"chief": {}, "ps": {}, "worker": {"replicas": 2}}
ALL = Offers(jobset=True, kueue=True, volcano=True)


@pytest.mark.parametrize(
    ("wants", "offers", "roles", "expected"),
    [
        ({}, Offers(), {}, Shape.JOBS),
        ({}, Offers(), PS, Shape.JOBS),
        ({}, Offers(jobset=True), {}, Shape.JOBS),
        ({}, Offers(jobset=True), PS, Shape.JOB_SET),
        ({}, Offers(volcano=True), {}, Shape.VOLCANO),
        ({"gang": "none"}, Offers(volcano=True), {}, Shape.JOBS),
        ({"queue": "q"}, ALL, {}, Shape.JOBS),
        ({"queue": "q"}, ALL, PS, Shape.JOB_SET),
        ({"queue": "q"}, Offers(volcano=True), PS, Shape.VOLCANO),
        ({"gang": "volcano", "queue": "q"}, ALL, PS, Shape.VOLCANO),
        ({"gang": "kueue", "queue": "q"}, ALL, PS, Shape.JOB_SET),
    ],
)
def test_the_table(resolved: Make, wants: Any, offers: Offers, roles: Any, expected: Shape) -> None:
    made = resolved(
        framework="tensorflow" if roles else "pytorch", kubernetes=wants, **({"roles": roles} if roles else {})
    )
    assert shape(made, Cluster(offers=offers)) is expected


def test_several_roles_become_one_job_set_whose_jobs_are_not_ours(resolved: Make) -> None:
    made = build(resolved(framework="tensorflow", roles=PS), Cluster(offers=Offers(jobset=True)))
    service, job_set = made.rest
    assert job_set["kind"] == "JobSet"
    roles = {item["name"]: item["template"]["spec"] for item in job_set["spec"]["replicatedJobs"]}
    assert {name: spec["completions"] for name, spec in roles.items()} == {"chief": 1, "ps": 1, "worker": 2}
    assert all("metadata" not in item["template"] for item in job_set["spec"]["replicatedJobs"])
    pod = roles["worker"]["template"]
    root = made.root["metadata"]["name"]
    assert pod["spec"]["subdomain"] == service["metadata"]["name"] == root
    address = next(
        item["value"] for item in pod["spec"]["containers"][0]["env"] if item["name"] == "TRAINYARD_MASTER_ADDR"
    )
    assert address == f"{root}-chief-0-0.{root}.default.svc.cluster.local", "the JobSet's name for the chief's only pod"


def test_volcano_starts_all_pods_or_none(resolved: Make) -> None:
    job = resolved(framework="tensorflow", roles=PS, kubernetes={"queue": "q", "priority_class": "high"})
    _, made = build(job, Cluster(offers=Offers(volcano=True))).rest
    spec = made["spec"]
    assert (made["apiVersion"], spec["minAvailable"], spec["queue"]) == ("batch.volcano.sh/v1alpha1", 4, "q")
    assert {task["name"]: task["replicas"] for task in spec["tasks"]} == {"chief": 1, "ps": 1, "worker": 2}
    assert spec["schedulerName"] == "volcano"
    assert spec["priorityClassName"] == "high"


def test_kueue_holds_back_what_it_queues(resolved: Make) -> None:
    job = resolved(framework="pytorch", replicas=2, kubernetes={"queue": "q", "priority_class": "high"})
    _, made = build(job, Cluster(offers=ALL)).rest
    assert made["spec"]["suspend"] is True
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "q"
    assert made["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "high"
    assert "priorityClassName" not in made["spec"]["template"]["spec"], "the workload has it"
    _, alone = build(job, Cluster()).rest
    assert "suspend" not in alone["spec"]
    assert alone["spec"]["template"]["spec"]["priorityClassName"] == "high"


def test_an_elastic_replica_is_made_again_and_spare_ones_may_stay_away(resolved: Make) -> None:
    wish = {"name": "pytorch", "mode": "torchrun", "elastic": {"min_replicas": 2, "restarts": 5}}
    _, made = build(resolved(framework=wish, replicas=4), Cluster()).rest
    assert (made["spec"]["backoffLimitPerIndex"], made["spec"]["maxFailedIndexes"]) == (5, 2)
    _, rigid = build(resolved(framework="pytorch", replicas=4), Cluster()).rest
    assert rigid["spec"]["backoffLimit"] == 0
