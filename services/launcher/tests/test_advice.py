"""What a survey of a cluster says, and what follows: one case a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from trainyard.common.contract import crd
from trainyard.common.contract.findings import Finding
from trainyard.common.contract.inventory import Node
from trainyard.launcher.core.cluster import advice, rights
from trainyard.launcher.core.cluster.survey import Claim, Running, Survey, claim, is_default, running

GPU = "nvidia.com/gpu"
WELL = Survey(
    namespace="train",
    version="v1.36.2",
    groups=frozenset({"batch/v1", "kueue.x-k8s.io/v1beta1", "jobset.x-k8s.io/v1alpha2"}),
    nodes=(
        Node(name="n0", backend="kubernetes", cpu=8),
        Node(name="g0", backend="kubernetes", cpu=8, resources={GPU: 4}, labels={"nvidia.com/gpu.product": "A100"}),
    ),
    daemons=(Running("nvidia-dcgm-exporter", 1, 1),),
    services=(Running("trainyard-launcher", 2, 2),),
    queues=("research",),
    classes={"fast": True},
    claims=(Claim("results", shared=True),),
    definition=crd.document(),
)


def _faults(findings: list[Finding]) -> list[str]:
    return [f"{finding.subject}: {finding.text}" for finding in findings if finding.level == "fault"]


def _of(findings: list[Finding], subject: str) -> Finding:
    return next(finding for finding in findings if finding.subject == subject)


def test_a_cluster_that_has_everything() -> None:
    jobs, installation = advice.of_jobs(WELL), advice.of_installation(WELL)
    assert not _faults(jobs)
    assert {finding.level for finding in installation} == {"ok"}
    assert _of(jobs, "accelerators").text == f"4 {GPU}"
    assert _of(jobs, "Kueue").text == "queues in train: research"
    assert _of(jobs, "results").text.endswith("results")


@pytest.mark.parametrize(
    ("survey", "sentence"),
    [
        (replace(WELL, version="v1.29.9"), "Kubernetes: v1.29.9 is too old: 1.30 is needed at least"),
        (replace(WELL, version="what"), "Kubernetes: what is too old: 1.30 is needed at least"),
        (replace(WELL, denied=rights.LAUNCHER[:1]), "rights: this account may not: list configmaps"),
        (replace(WELL, nodes=None), "nodes: cannot be seen: this account may not list nodes"),
        (replace(WELL, nodes=()), "nodes: 0 of 0 take pods, with 0 cores"),
        (replace(WELL, daemons=(Running("dcgm-exporter", 0, 3),)), "metrics: dcgm-exporter: 0 of 3 are ready"),
    ],
)
def test_what_does_not_work_is_said(survey: Survey, sentence: str) -> None:
    assert _faults(advice.of_jobs(survey)) == [sentence]


@pytest.mark.parametrize("label", ["pci-10de", "pci-0302_10de", "pci-1200_10de"])
def test_hardware_without_its_device_plugin_is_found(label: str) -> None:
    labels = {f"feature.node.kubernetes.io/{label}.present": "true"}
    bare = Node(name="g9", backend="kubernetes", labels=labels, resources={GPU: 0})
    found = _faults(advice.of_jobs(replace(WELL, nodes=(bare,))))
    assert found == [
        "node g9: it has a device of NVIDIA and offers no nvidia.com/…: its device plugin is missing or does not run"
    ]
    assert not _faults(advice.of_jobs(replace(WELL, nodes=(bare.model_copy(update={"resources": {GPU: 1}}),))))


def test_the_audio_of_a_graphics_card_is_no_accelerator() -> None:
    labels = {"feature.node.kubernetes.io/pci-0403_10de.present": "true"}
    node = Node(name="n9", backend="kubernetes", labels=labels)
    assert not _faults(advice.of_jobs(replace(WELL, nodes=(node,))))


def test_a_definition_of_another_version_is_a_fault_and_none_is_a_note() -> None:
    older = crd.document()
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["kubernetes"]
    found = _of(advice.of_jobs(replace(WELL, definition=older)), "TrainingJob")
    assert (found.level, "does not know kubernetes" in found.text) == ("fault", True)
    assert _of(advice.of_jobs(replace(WELL, definition=None)), "TrainingJob").level == "note"
    assert "cannot be seen" in _of(advice.of_jobs(replace(WELL, definition={})), "TrainingJob").text


def test_what_is_missing_says_what_follows() -> None:
    bare = replace(WELL, groups=frozenset(), queues=(), claims=(), classes={"slow": False}, services=(), daemons=())
    notes = {
        item.subject: item.text
        for item in (*advice.of_jobs(bare), *advice.of_installation(bare))
        if item.level == "note"
    }
    assert notes.keys() >= {
        "Kueue",
        "JobSet",
        "Volcano",
        "GPU operator",
        "results",
        "storage",
        "Trainyard",
        "metrics",
    }
    assert "slow" in notes["storage"]


def test_objects_of_the_api_server_are_read() -> None:
    labelled = {"metadata": {"name": "d"}, "status": {"desiredNumberScheduled": 3, "numberReady": 2}}
    assert running(labelled) == Running("d", 2, 3)
    assert running({"metadata": {"name": "d"}, "spec": {"replicas": 2}}) == Running("d", 0, 2)
    shared = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteMany"]}, "status": {"phase": "Bound"}}
    assert claim(shared) == Claim("c", shared=True)
    assert not is_default({"metadata": {"name": "s"}})


def test_the_rights_that_are_asked_for_are_those_of_the_role_that_ships() -> None:
    file = Path(__file__).resolve().parents[3] / "deploy" / "helm" / "trainyard" / "files" / "launcher-rules.yaml"
    rules = yaml.safe_load(file.read_text())
    granted = {
        (group, resource, verb)
        for rule in (*rules["jobs"], *rules["nodes"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {(right.group, right.resource, right.verb) for right in rights.LAUNCHER} == granted
