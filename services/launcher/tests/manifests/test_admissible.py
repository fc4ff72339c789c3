"""Every framework's every mode against the schemas of three Kubernetes versions; and what `restricted` must mean."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import kubernetes_validate
import pytest

from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, build, owned
from trainyard.launcher.core.manifests.worker import package

Make = Callable[..., Job]
Templates = Callable[[Any], Iterator[Any]]
VERSIONS = ("1.31", "1.34", "1.36")
CLUSTERS = ("bare", "jobset", "volcano", "kueue")
BLOCKS = ("restricted", "privileged")
MODES = [(name, mode) for name, row in FRAMEWORKS.items() for mode in row.modes]


def check(document: dict[str, Any], version: str, templates: Templates) -> None:
    """Custom kinds have no schema here; the Jobs and pods in them are checked as such."""
    if document["apiVersion"] in {"v1", "batch/v1"}:
        kubernetes_validate.validate(document, version, strict=True)
        return
    found = list(templates(document))
    assert found
    for template in found:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}
        kubernetes_validate.validate(pod, version, strict=True)
    for item in document["spec"].get("replicatedJobs", ()):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, **item["template"]}
        kubernetes_validate.validate(job, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize(("framework", "mode"), MODES)
def test_every_framework(
    resolved: Make,
    shaped: Make,
    templates: Templates,
    clusters: dict[str, Cluster],
    framework: str,
    mode: str,
    cluster: str,
    version: str,
) -> None:
    made = build(resolved(**shaped(framework, mode)), clusters[cluster])
    for document in (made.root, *owned(made, "00000000-0000-0000-0000-000000000000")):
        check(document, version, templates)


@pytest.mark.parametrize(("block", "cluster", "version"), list(itertools.product(BLOCKS, CLUSTERS, VERSIONS)))
def test_every_field_of_the_block(
    resolved: Make,
    templates: Templates,
    blocks: Any,
    clusters: dict[str, Cluster],
    block: str,
    cluster: str,
    version: str,
) -> None:
    wants = {**blocks[block], **({"queue": "q"} if cluster in {"kueue", "volcano"} else {})}
    for document in build(resolved(framework="pytorch", kubernetes=wants), clusters[cluster]).rest:
        check(document, version, templates)


def test_a_field_that_does_not_exist_would_be_found(resolved: Make, templates: Templates) -> None:
    _, job = build(resolved(), Cluster()).rest
    job["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        check(job, VERSIONS[-1], templates)


def test_the_packages_config_map_is_one(templates: Templates) -> None:
    check(package({"trainyard/worker/__init__.py": b""}).manifest("ns"), VERSIONS[0], templates)


def test_restricted_is_what_the_pod_security_standard_says(resolved: Make, templates: Templates, blocks: Any) -> None:
    """Source: kubernetes.io, "Pod Security Standards", the profile Restricted."""
    _, job = build(resolved(kubernetes=blocks["restricted"]), Cluster()).rest
    (template,) = templates(job)
    spec = template["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 2000
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    allowed = {"configMap", "emptyDir", "persistentVolumeClaim", "secret"}
    assert all(set(volume) - {"name"} <= allowed for volume in spec["volumes"])
    containers = [*spec["initContainers"], *spec["containers"]]
    assert [item["name"] for item in containers] == ["fetch", "metrics", "job"]
    for item in containers:
        assert item["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_only_the_jobs_own_container_holds_accelerators(resolved: Make, templates: Templates, blocks: Any) -> None:
    _, job = build(resolved(kubernetes=blocks["restricted"]), Cluster()).rest
    spec = next(templates(job))["spec"]
    assert spec["containers"][0]["resources"]["limits"]["rdma/hca"] == "1"
    assert all("limits" not in item["resources"] for item in spec["initContainers"])
