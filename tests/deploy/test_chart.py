"""What the chart renders fits Kubernetes, itself and the services."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.deploy.conftest import CHART, EVERYTHING, ROOT, Document, Render, of_kind

from trainyard.common.runtime.settings import SERVICES, RuntimeSettings, service_port

FOREIGN = {"ServiceMonitor"}
"""Kinds that Kubernetes itself has no schema for."""


@pytest.mark.parametrize("version", ["1.30", "1.33", "1.36"])
def test_every_document_fits_the_schema(documents: list[Document], version: str) -> None:
    for document in documents:
        if document["kind"] not in FOREIGN:
            kubernetes_validate.validate(document, version, strict=True)


def test_there_is_one_of_each_name(documents: list[Document]) -> None:
    names = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in documents]
    assert len(names) == len(set(names))


def test_selectors_match_the_labels_of_pods(documents: list[Document]) -> None:
    deployments = of_kind(documents, "Deployment")
    assert set(deployments) == {f"trainyard-{name}" for name in SERVICES}
    for name, deployment in deployments.items():
        labels = deployment["spec"]["template"]["metadata"]["labels"].items()
        service, budget = of_kind(documents, "Service")[name], of_kind(documents, "PodDisruptionBudget")[name]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels
        assert service["spec"]["selector"].items() <= labels
        assert budget["spec"]["selector"]["matchLabels"].items() <= labels
        matching = [one for one in deployments.values() if service["spec"]["selector"].items()
                    <= one["spec"]["template"]["metadata"]["labels"].items()]  # fmt: skip
        assert matching == [deployment]
        assert deployment["spec"]["template"]["spec"]["serviceAccountName"] in of_kind(documents, "ServiceAccount")


def test_ports_and_probes_are_those_of_the_services(documents: list[Document]) -> None:
    for name in SERVICES:
        (container,) = _pod(documents, name)["containers"]
        assert [port["containerPort"] for port in container["ports"]] == [service_port(name)]
        assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
        (port,) = of_kind(documents, "Service")[f"trainyard-{name}"]["spec"]["ports"]
        assert (port["port"], port["targetPort"]) == (service_port(name), "http")


class _Asked(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_one_that_the_service_reads(documents: list[Document], name: str, tmp_path: Path) -> None:
    env = environment(documents, name)
    (tmp_path / "tokens.json").write_text('{"ann": {"sha256": "", "created": ""}}')
    for item, text in of_kind(documents, "ConfigMap")["trainyard-files"]["data"].items():
        (tmp_path / item).write_text(text)
    for variable in ("TRAINYARD_TOKENS", "TRAINYARD_IMAGE_PINS", "TRAINYARD_TEMPLATE_LIMITS"):
        if variable in env:
            env[variable] = str(tmp_path / Path(env[variable]).name)
    asked = _Asked(env)
    importlib.import_module(f"trainyard.{name.replace('-', '_')}.settings").Settings.from_env(asked)
    RuntimeSettings.from_env(name, asked)
    assert set(env) <= asked.names


def environment(documents: list[Document], name: str) -> dict[str, str]:
    (container,) = _pod(documents, name)["containers"]
    shared = of_kind(documents, "ConfigMap")[container["envFrom"][0]["configMapRef"]["name"]]["data"]
    return {**shared, **{item["name"]: item.get("value", "from-elsewhere") for item in container["env"]}}


def test_every_volume_is_there_and_used(documents: list[Document]) -> None:
    for name in SERVICES:
        pod = _pod(documents, name)
        (container,) = pod["containers"]
        assert {item["name"] for item in pod["volumes"]} == {item["name"] for item in container["volumeMounts"]}
        for claim in _claims(pod):
            assert claim in {*of_kind(documents, "PersistentVolumeClaim"), "outputs-here"}


def _claims(pod: Document) -> Iterator[str]:
    return (item["persistentVolumeClaim"]["claimName"] for item in pod["volumes"] if "persistentVolumeClaim" in item)


def _pod(documents: list[Document], name: str) -> Document:
    pod: Document = of_kind(documents, "Deployment")[f"trainyard-{name}"]["spec"]["template"]["spec"]
    return pod


def test_pods_are_restricted(documents: list[Document]) -> None:
    """Source: kubernetes.io, "Pod Security Standards", restricted."""
    for name in SERVICES:
        pod = _pod(documents, name)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        allowed = {"emptyDir", "persistentVolumeClaim", "secret", "configMap"}
        assert all(set(volume) - {"name"} <= allowed for volume in pod["volumes"])
        for container in pod["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["automountServiceAccountToken"] is (name == "launcher")


def test_the_custom_resource_is_the_contracts() -> None:
    assert (CHART / "files" / "crd.yaml").read_text() == (ROOT / "contract" / "crd.yaml").read_text()


def test_it_stays_when_the_release_goes(render: Render) -> None:
    (crd,) = of_kind(render(), "CustomResourceDefinition").values()
    assert crd["metadata"]["annotations"].pop("helm.sh/resource-policy") == "keep"
    assert {**crd, "metadata": {**crd["metadata"], "annotations": None}} == {
        **(told := yaml.safe_load((ROOT / "contract" / "crd.yaml").read_text())),
        "metadata": {**told["metadata"], "annotations": None},
    }


def test_another_release_has_other_names(render: Render) -> None:
    first, second = (of_kind(render(release=name), "Deployment") for name in ("trainyard", "second"))
    assert not set(first) & set(second)


def test_a_claim_of_one_node_holds_its_users_together(render: Render) -> None:
    made = render({"persistence": {"logs": {"accessMode": "ReadWriteOnce"}}})
    for name in SERVICES:
        assert ("affinity" in _pod(made, name)) == (name in {"job-api", "launcher"})
    assert "affinity" not in _pod(render(), "launcher")


def test_what_is_said_of_all_reaches_all(render: Render) -> None:
    made = render(EVERYTHING)
    for name in SERVICES:
        pod = _pod(made, name)
        assert pod["priorityClassName"] == "system-cluster-critical"
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
        assert pod.get("nodeSelector") == ({"a": "b"} if name == "job-api" else None)
