"""Who may do what in the cluster, and who may speak to whom."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.deploy.conftest import CHART, EVERYTHING, Document, Render, of_kind

from trainyard.common.runtime.settings import SERVICES, service_port

RULES = yaml.safe_load((CHART / "files" / "launcher-rules.yaml").read_text())


def test_nobody_but_the_launcher_has_rights(documents: list[Document]) -> None:
    bindings = [*of_kind(documents, "ClusterRoleBinding").values(), *of_kind(documents, "RoleBinding").values()]
    subjects = {(one["kind"], one["name"]) for binding in bindings for one in binding["subjects"]}
    assert subjects == {("ServiceAccount", "trainyard-launcher")}
    bound = {binding["roleRef"]["name"] for binding in bindings}
    roles = of_kind(documents, "ClusterRole")
    assert {name: roles[name]["rules"] for name in bound} == {f"trainyard-launcher-{k}": v for k, v in RULES.items()}


def test_in_some_namespaces_the_rights_end_there(render: Render) -> None:
    made = render(EVERYTHING)
    assert set(of_kind(made, "ClusterRoleBinding")) == {"trainyard-launcher-nodes"}
    assert RULES["nodes"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]
    roles = [item for item in made if item["kind"] == "RoleBinding"]
    places = {(item["metadata"]["namespace"], item["roleRef"]["name"]) for item in roles}
    assert places == {
        (namespace, f"trainyard-launcher-{part}")
        for namespace in ("trainyard-jobs", "team-a")
        for part in ("jobs", "gangs")
    }


def test_namespaces_without_that_of_jobs_are_refused(render: Render) -> None:
    with pytest.raises(Exception, match=r"launcher.namespaces: trainyard-jobs, .* is not among them: add it"):
        render({"launcher": {"namespaces": ["team-a"]}})


@pytest.fixture(scope="module")
def policies(render: Render) -> dict[str, Document]:
    return of_kind(render(EVERYTHING), "NetworkPolicy")


def test_nothing_is_open_by_default(policies: dict[str, Document]) -> None:
    deny = policies["trainyard-deny"]["spec"]
    assert deny["policyTypes"] == ["Ingress", "Egress"]
    assert not {"ingress", "egress"} & set(deny)
    assert "app.kubernetes.io/component" not in deny["podSelector"]["matchLabels"]


def ports(rules: list[Document]) -> set[int]:
    return {port["port"] for rule in rules for port in rule["ports"]}


@pytest.mark.parametrize("name", SERVICES)
def test_every_port_that_is_used_is_open_and_no_other(policies: dict[str, Document], name: str) -> None:
    spec = policies[f"trainyard-{name}"]["spec"]
    assert ports(spec["ingress"]) == {service_port(name)}
    more = {"monitor": {8470}, "launcher": {443, 6443}, "converter": {443}}.get(name, set())
    assert ports(spec["egress"]) == {53, 4222, 4318, *more}


def test_only_who_has_tokens_can_be_reached_without_metrics(render: Render) -> None:
    made = of_kind(render(), "NetworkPolicy")
    open_ones = {name for name in SERVICES if made[f"trainyard-{name}"]["spec"]["ingress"]}
    assert open_ones == {"job-api", "monitor"}
    job_api = made["trainyard-job-api"]["spec"]["ingress"]
    peers = [peer["podSelector"].get("matchLabels", {}) for rule in job_api for peer in rule["from"]]
    assert "monitor" in {labels.get("app.kubernetes.io/component") for labels in peers}


def test_nats_is_the_services_alone(policies: dict[str, Document], render: Render) -> None:
    spec = policies["trainyard-nats"]["spec"]
    (clients,) = [rule["from"] for rule in spec["ingress"] if rule["ports"] == [{"port": 4222}]]
    (labels,) = [peer["podSelector"]["matchLabels"] for peer in clients]
    deployments = of_kind(render(EVERYTHING), "Deployment").values()
    assert all(labels.items() <= one["spec"]["template"]["metadata"]["labels"].items() for one in deployments)


BAD: list[tuple[Any, str]] = [
    ({"typo": 1}, "additional properties 'typo' not allowed"),
    ({"jobApi": {"replica": 2}}, "additional properties 'replica' not allowed"),
    ({"monitor": {"replicas": 2}}, "/monitor/replicas': maximum: got 2, want 1"),
    ({"common": {"replicas": 2}}, "/common/replicas': maximum: got 2, want 1"),
    ({"converter": {"replicas": 2}}, "/persistence/models/accessMode': value must be 'ReadWriteMany'"),
    ({"nats": {"enabled": False}}, "/natsUrl': minLength"),
    ({"natsUrl": "nats.example.com"}, "/natsUrl': 'nats.example.com' does not match pattern"),
    ({"images": {"pytorch-cpu": "pytorch-cpu:latest"}}, "/images/pytorch-cpu': .* does not match pattern"),
    ({"logLevel": "loud"}, "/logLevel': value must be one of"),
    ({"persistence": {"logs": {"enabled": False}}}, "/persistence/logs/enabled': value must be true"),
    ({"persistence": {"logs": {"size": "much"}}}, "/persistence/logs/size': 'much' does not match pattern"),
]


@pytest.mark.parametrize(("values", "words"), BAD, ids=[str(values) for values, _ in BAD])
def test_wrong_values_are_refused_in_words(render: Render, values: Document, words: str) -> None:
    with pytest.raises(Exception, match=words):
        render(values)


def test_several_converters_need_one_repository(render: Render) -> None:
    made = render({"converter": {"replicas": 2}, "persistence": {"models": {"accessMode": "ReadWriteMany"}}})
    assert of_kind(made, "Deployment")["trainyard-converter"]["spec"]["replicas"] == 2
