"""Making objects: what the server adds, and what it refuses."""

from __future__ import annotations

import re
import uuid

import pytest

from trainyard.cluster_double.testing.api import Api
from trainyard.cluster_double.testing.manifests import a_config, a_job, a_pod


def test_the_server_adds_uid_version_and_time(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a", {"x": "1"}))
    metadata = made["metadata"]
    assert uuid.UUID(metadata["uid"])
    assert int(metadata["resourceVersion"]) > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert api.get(f"{configs}/a").body == made


def test_generation_starts_at_one_where_there_is_a_spec(api: Api, pods: str, configs: str) -> None:
    assert api.made(pods, a_pod("a"))["metadata"]["generation"] == 1
    assert "generation" not in api.made(configs, a_config("a"))["metadata"]


def test_a_name_is_taken_once(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    reply = api.post(configs, a_config("a"))
    assert reply.code == 409
    assert reply.body["reason"] == "AlreadyExists"
    assert reply.body["details"] == {"name": "a", "kind": "configmaps"}
    assert reply.body["message"] == 'configmaps "a" already exists'


def test_generated_names(api: Api, configs: str) -> None:
    made = [api.made(configs, {"metadata": {"generateName": "run-"}})["metadata"]["name"] for _ in range(3)]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"run-[a-z0-9]{5}", name) for name in made)


def test_a_dry_run_stores_nothing(api: Api, configs: str) -> None:
    reply = api.post(configs, a_config("a"), dryRun="All")
    assert reply.code == 201
    assert reply.body["metadata"]["uid"]
    assert "resourceVersion" not in reply.body["metadata"]
    assert api.get(f"{configs}/a").code == 404
    wrong = api.post(configs, a_config("a"), dryRun="Some")
    assert (wrong.code, wrong.causes[0]["field"]) == (422, "dryRun")


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "a" * 254])
def test_a_name_must_be_a_dns_subdomain(api: Api, configs: str, name: str) -> None:
    reply = api.post(configs, a_config(name))
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")
    assert reply.causes[0]["reason"] == "FieldValueInvalid"
    assert reply.causes[0]["field"] == "metadata.name"


def test_an_object_needs_a_name(api: Api, configs: str) -> None:
    reply = api.post(configs, {"metadata": {}})
    assert reply.code == 422
    assert reply.causes == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value: name or generateName is required",
            "field": "metadata.name",
        }
    ]


def test_labels_and_finalizers_have_a_form(api: Api, configs: str) -> None:
    labels = api.post(configs, a_config("a", labels={"a b": "c"}))
    assert (labels.code, labels.causes[0]["field"]) == (422, "metadata.labels")
    finalizers = api.post(configs, a_config("a", finalizers=["plain"]))
    assert (finalizers.code, finalizers.causes[0]["field"]) == (422, "metadata.finalizers[0]")


def test_the_namespace_must_be_there_and_agree(api: Api, configs: str) -> None:
    reply = api.post("/api/v1/namespaces/contract-nowhere/configmaps", a_config("a"))
    assert (reply.code, reply.body["message"]) == (404, 'namespaces "contract-nowhere" not found')
    other = api.post(configs, a_config("a", namespace="other"))
    assert (other.code, other.body["reason"]) == (400, "BadRequest")


def test_the_kind_must_agree(api: Api, configs: str) -> None:
    reply = api.post(configs, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")


def test_what_is_not_there(api: Api, configs: str, jobs: str) -> None:
    reply = api.get(f"{configs}/a")
    assert (reply.code, reply.body["reason"]) == (404, "NotFound")
    assert reply.body["details"] == {"name": "a", "kind": "configmaps"}
    assert api.get(f"{jobs}/a").body["message"] == 'jobs.batch "a" not found'
    assert api.get(f"{jobs}/a").body["details"] == {"name": "a", "group": "batch", "kind": "jobs"}


def test_bodies_that_cannot_be_read(api: Api, configs: str) -> None:
    assert api.post(configs, b"{nope").code == 400
    assert api.post(configs, b"a: 1", media="text/plain").code == 415
    wrong = api.post(configs, {"metadata": {"name": "a"}, "data": {"x": 1}})
    assert wrong.code == 400
    assert "cannot unmarshal number" in wrong.body["message"]


def test_a_body_may_be_yaml(api: Api, configs: str) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
    assert api.post(configs, text, media="application/yaml").body["data"] == {"x": "1"}


def test_unknown_fields_warn_or_refuse(api: Api, pods: str) -> None:
    pod = a_pod("a", nonsense=1)
    warned = api.post(pods, pod, dryRun="All")
    assert warned.code == 201
    assert warned.headers["warning"] == '299 - "unknown field \\"spec.nonsense\\""'
    assert "nonsense" not in warned.body["spec"]
    refused = api.post(pods, pod, fieldValidation="Strict")
    assert refused.code == 400
    assert refused.body["message"].endswith('strict decoding error: unknown field "spec.nonsense"')


def test_a_pod_is_filled_in(api: Api, pods: str) -> None:
    made = api.made(pods, a_pod("a"))
    spec, container = made["spec"], made["spec"]["containers"][0]
    assert (spec["dnsPolicy"], spec["schedulerName"], spec["terminationGracePeriodSeconds"]) == (
        "ClusterFirst",
        "default-scheduler",
        30,
    )
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["terminationMessagePath"] == "/dev/termination-log"
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_amounts_are_written_canonically(api: Api, pods: str) -> None:
    wanted = {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"nvidia.com/gpu": 2}}
    made = api.made(pods, a_pod("a", container={"resources": wanted}))["spec"]["containers"][0]["resources"]
    assert made["requests"] == {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert made["limits"] == {"nvidia.com/gpu": "2"}
    assert api.post(pods, a_pod("b", container={"resources": {"requests": {"cpu": "much"}}})).code == 400


def test_faults_of_a_pod_are_named_together(api: Api, pods: str) -> None:
    pod = a_pod("a", restartPolicy="Sometimes")
    pod["spec"]["containers"] = [{"name": "Main"}]
    reply = api.post(pods, pod)
    assert reply.code == 422
    assert [(cause["field"], cause["reason"]) for cause in reply.causes] == [
        ("spec.containers[0].name", "FieldValueInvalid"),
        ("spec.containers[0].image", "FieldValueRequired"),
        ("spec.restartPolicy", "FieldValueNotSupported"),
    ]


def test_requests_stay_below_limits(api: Api, pods: str) -> None:
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    reply = api.post(pods, a_pod("a", container={"resources": resources}))
    assert reply.code == 422
    assert reply.causes[0]["field"] == "spec.containers[0].resources.requests"


def test_a_job_must_not_restart_for_ever(api: Api, jobs: str) -> None:
    reply = api.post(jobs, a_job("a", pod={"restartPolicy": "Always"}))
    assert reply.code == 422
    assert reply.causes[0]["field"] == "spec.template.spec.restartPolicy"


def test_a_headless_service(api: Api, ns: str) -> None:
    services = f"/api/v1/namespaces/{ns}/services"
    spec = {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}
    made = api.made(services, {"metadata": {"name": "gang"}, "spec": spec})
    assert made["spec"]["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
    assert made["spec"]["clusterIPs"] == ["None"]
    assert api.post(services, {"metadata": {"name": "a.b"}, "spec": spec}).code == 422, "a service's name is one label"


def test_plain_text_in_a_secret(api: Api, ns: str) -> None:
    secrets = f"/api/v1/namespaces/{ns}/secrets"
    made = api.made(secrets, {"metadata": {"name": "a"}, "stringData": {"key": "value"}})
    assert made["data"] == {"key": "dmFsdWU="}
    assert made["type"] == "Opaque"
    assert "stringData" not in made
