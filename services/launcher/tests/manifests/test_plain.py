"""Commands that run without the runner, since their image may have no Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, Offers, build
from trainyard.launcher.core.manifests.plain import fits

Make = Callable[..., Job]
HOST = {"host_network": True, "security": "privileged"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"command": ["/bin/solver"]}, True),
        ({"command": ["/bin/solver"], "source": "image"}, True),
        ({"command": ["/bin/solver"], "source": f"sha256:{'0' * 64}"}, False),
        ({"command": ["/bin/solver"], "replicas": 3}, True),
        ({"command": ["python", "x.py"]}, False),
        ({"command": ["/usr/bin/python3", "x.py"]}, False),
        ({"command": ["/bin/solver"], "processes": 2}, False),
        ({"command": ["/bin/solver"], "framework": "pytorch"}, False),
        ({"roles": {"a": {}, "b": {}}}, False),
        ({"replicas": 2, "kubernetes": HOST}, False),
        ({"replicas": 1, "kubernetes": HOST}, True),
    ],
)
def test_which(resolved: Make, changes: dict[str, Any], expected: bool) -> None:
    assert fits(resolved(**changes)) is expected


@pytest.mark.parametrize(
    ("offers", "annotation"),
    [(Offers(), "batch.kubernetes.io/job-completion-index"), (Offers(volcano=True), "volcano.sh/task-index")],
)
def test_the_rank_is_the_index_that_the_controller_gives(resolved: Make, offers: Offers, annotation: str) -> None:
    job = resolved(command=["/bin/solver", "$(HOME)"], replicas=3, env={"PRICE": "$5"})
    made = build(job, Cluster(offers=offers))
    spec = made.rest[1]["spec"]
    template = spec["tasks"][0]["template"] if offers.volcano else spec["template"]
    container = template["spec"]["containers"][0]
    rank, *_, endpoint = container["env"]
    assert container["command"] == ["/bin/solver", "$$(HOME)"]
    assert rank["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.annotations['{annotation}']"
    root = made.root["metadata"]["name"]
    assert endpoint["value"] == f"{root}-worker-$(TRAINYARD_RANK).{root}.default.svc.cluster.local:29501"
    env = {item["name"]: item.get("value") for item in container["env"]}
    assert env["TRAINYARD_WORLD_SIZE"] == "3"
    assert env["PRICE"] == "$$5"
    assert not {"TRAINYARD_PLAN", "TRAINYARD_REPORT", "PYTHONPATH"} & set(env)
    mounted = {item["mountPath"]: item.get("subPath") for item in container["volumeMounts"]}
    assert mounted[env["TRAINYARD_OUTPUT"]] == f"{job.job_id}/output"
    assert container["workingDir"] == env["TRAINYARD_OUTPUT"]


def test_35_requests_and_limits_are_both_kept(resolved: Make) -> None:
    job = resolved(resources={"cpu": 1, "memory": "2G"}, limits={"cpu": 3, "memory": "4G"})
    _, maker = build(job, Cluster()).rest
    [asked] = [item["resources"] for item in maker["spec"]["template"]["spec"]["containers"]]
    assert asked == {"requests": {"cpu": "1", "memory": "2000000000"}, "limits": {"cpu": "3", "memory": "4000000000"}}


def test_every_container_sees_the_same_of_a_volume(resolved: Make, blocks: Any) -> None:
    _, maker = build(resolved(kubernetes=blocks["restricted"]), Cluster()).rest
    spec = maker["spec"]["template"]["spec"]
    containers = [*spec["containers"], *(one for one in spec["initContainers"] if one["name"] in {"fetch", "metrics"})]
    assert len(containers) == 3
    for container in containers:
        [data] = [item for item in container["volumeMounts"] if item["mountPath"] == "/data"]
        assert data == {"name": "volume-0", "mountPath": "/data", "subPath": "digits", "readOnly": True}
