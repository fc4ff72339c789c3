"""PUT: conflicts, what may change, and what only the status may."""

from __future__ import annotations

from trainyard.cluster_double.testing.api import STRATEGIC, Api
from trainyard.cluster_double.testing.manifests import a_config, a_container, a_job, a_pod


def test_a_stale_version_is_refused(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a", {"x": "1"}))
    api.patch(f"{configs}/a", {"data": {"x": "2"}})
    reply = api.put(f"{configs}/a", {**made, "data": {"x": "3"}})
    assert (reply.code, reply.body["reason"]) == (409, "Conflict")
    assert "the object has been modified; please apply your changes to the latest version" in reply.body["message"]
    assert api.get(f"{configs}/a").body["data"] == {"x": "2"}


def test_without_a_version_the_last_writer_wins(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", {"x": "1"}))
    assert api.put(f"{configs}/a", a_config("a", {"x": "2"})).body["data"] == {"x": "2"}


def test_some_kinds_insist_on_a_version(api: Api, ns: str) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    api.made(leases, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "x"}})
    reply = api.put(f"{leases}/a", {"metadata": {"name": "a"}, "spec": {"holderIdentity": "y"}})
    assert reply.code == 422
    assert reply.causes[0]["field"] == "metadata.resourceVersion"


def test_another_uid_is_a_conflict(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    assert api.put(f"{configs}/a", a_config("a", uid="other")).code == 409


def test_the_name_is_the_one_of_the_path(api: Api, configs: str) -> None:
    api.made(configs, a_config("a"))
    assert api.put(f"{configs}/a", a_config("b")).code == 400
    assert api.put(f"{configs}/b", a_config("b")).code == 404


def test_a_write_that_changes_nothing_keeps_the_version(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a", {"x": "1"}))
    same = api.put(f"{configs}/a", a_config("a", {"x": "1"}))
    assert same.version == made["metadata"]["resourceVersion"]


def test_generation_counts_the_spec_alone(api: Api, jobs: str) -> None:
    api.made(jobs, a_job("a", suspend=True))
    labelled = api.patch(f"{jobs}/a", {"metadata": {"labels": {"x": "y"}}})
    assert labelled.body["metadata"]["generation"] == 1
    assert api.patch(f"{jobs}/a", {"spec": {"parallelism": 2}}).body["metadata"]["generation"] == 2


def test_what_the_server_says_of_an_object_stays(api: Api, configs: str) -> None:
    made = api.made(configs, a_config("a"))
    changed = {"metadata": {"name": "a", "creationTimestamp": "2001-01-01T00:00:00Z"}, "data": {"x": "1"}}
    assert (
        api.put(f"{configs}/a", changed).body["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    )


def test_spec_and_status_are_written_apart(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeSelector={"nowhere": "x"}))
    plain = api.patch(f"{pods}/a", {"status": {"phase": "Running"}, "metadata": {"labels": {"x": "y"}}})
    assert plain.body["status"]["phase"] == "Pending"
    assert plain.body["metadata"]["labels"] == {"x": "y"}
    status = api.patch(
        f"{pods}/a/status", {"status": {"phase": "Running"}, "spec": {"activeDeadlineSeconds": 5}}, STRATEGIC
    )
    assert status.body["status"]["phase"] == "Running"
    assert "activeDeadlineSeconds" not in status.body["spec"]


def test_conditions_are_merged_by_their_type(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeName="contract-nowhere"))
    for kind in ("One", "Two", "One"):
        api.patch(f"{pods}/a/status", {"status": {"conditions": [{"type": kind, "status": "True"}]}}, STRATEGIC)
    conditions = api.get(f"{pods}/a").body["status"]["conditions"]
    assert sorted(one["type"] for one in conditions if one["type"] in {"One", "Two"}) == ["One", "Two"]


def test_a_pods_spec_is_fixed_but_for_its_images(api: Api, pods: str) -> None:
    api.made(pods, a_pod("a", nodeSelector={"nowhere": "x"}))
    refused = api.patch(f"{pods}/a", {"spec": {"terminationGracePeriodSeconds": 5}})
    assert (refused.code, refused.causes[0]["reason"]) == (422, "FieldValueForbidden")
    assert refused.causes[0]["message"].startswith("Forbidden: pod updates may not change fields other than")
    image = api.patch(f"{pods}/a", {"spec": {"containers": [a_container(image="example.com/train:2")]}}, STRATEGIC)
    assert image.body["spec"]["containers"][0]["image"] == "example.com/train:2"


def test_a_jobs_template_is_fixed(api: Api, jobs: str) -> None:
    api.made(jobs, a_job("a"))
    body = {"spec": {"template": {"spec": {"containers": [a_container(image="example.com/train:2")]}}}}
    reply = api.patch(f"{jobs}/a", body, STRATEGIC)
    assert (reply.code, reply.causes[0]["field"]) == (422, "spec.template")
    assert reply.causes[0]["message"].endswith("field is immutable")
    completions = api.patch(f"{jobs}/a", {"spec": {"completions": 7}})
    assert (completions.code, completions.causes[0]["field"]) == (422, "spec.completions")


def test_a_suspended_job_may_still_be_told_where_to_run(api: Api, jobs: str) -> None:
    api.made(jobs, a_job("a", suspend=True))
    body = {"spec": {"template": {"spec": {"nodeSelector": {"pool": "gpu"}}}}}
    reply = api.patch(f"{jobs}/a", body, STRATEGIC)
    assert reply.code == 200, reply.text
    assert reply.body["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "gpu"}


def test_an_indexed_job_may_grow(api: Api, jobs: str) -> None:
    api.made(jobs, a_job("a", completions=2, parallelism=2, completionMode="Indexed", suspend=True))
    assert api.patch(f"{jobs}/a", {"spec": {"completions": 4, "parallelism": 4}}).body["spec"]["completions"] == 4
    assert api.patch(f"{jobs}/a", {"spec": {"completions": 5}}).code == 422


def test_sealed_data_stays(api: Api, configs: str) -> None:
    api.made(configs, {**a_config("a", {"x": "1"}), "immutable": True})
    reply = api.patch(f"{configs}/a", {"data": {"x": "2"}})
    assert (reply.code, reply.causes[0]["field"]) == (422, "data")
    assert api.patch(f"{configs}/a", {"metadata": {"labels": {"x": "y"}}}).code == 200


def test_a_jobs_status_is_written_by_who_manages_it(api: Api, jobs: str) -> None:
    made = api.made(jobs, a_job("a", managedBy="example.com/queue", suspend=True))
    told = {"type": "Suspended", "status": "True", "reason": "Queued", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    reply = api.put(f"{jobs}/a/status", {**made, "status": {"conditions": [told]}})
    assert reply.code == 200, reply.text
    assert reply.body["status"]["conditions"][0]["reason"] == "Queued"
    assert reply.body["metadata"]["generation"] == 1


def test_an_object_without_its_namespace_has_no_place(api: Api) -> None:
    assert api.post("/api/v1/configmaps", a_config("a")).code == 405
    assert api.get("/api/v1/configmaps").code == 200


def test_the_older_of_two_writers_tries_again(api: Api, configs: str) -> None:
    api.made(configs, a_config("a", {"n": "0"}))
    mine, theirs = api.get(f"{configs}/a").body, api.get(f"{configs}/a").body
    assert api.put(f"{configs}/a", {**theirs, "data": {"n": "1"}}).code == 200
    assert api.put(f"{configs}/a", {**mine, "data": {"n": "2"}}).code == 409
    again = api.get(f"{configs}/a").body
    assert api.put(f"{configs}/a", {**again, "data": {"n": "2"}}).body["data"] == {"n": "2"}
