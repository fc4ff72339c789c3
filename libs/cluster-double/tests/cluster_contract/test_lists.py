"""Lists: selectors, pages, and revisions."""

from __future__ import annotations

import pytest

from trainyard.cluster_double.testing.api import TABLE, Api
from trainyard.cluster_double.testing.manifests import a_config, a_pod

OURS = "mine"


@pytest.fixture
def five(api: Api, configs: str) -> str:
    """Five objects with labels."""
    for index in range(5):
        labels = {OURS: "yes", "rank": str(index), **({"role": "worker"} if index else {"role": "chief"})}
        api.made(configs, a_config(f"c{index}", labels=labels))
    return configs


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("role=worker", [1, 2, 3, 4]),
        ("role==chief", [0]),
        ("mine,role!=worker", [0]),
        ("rank in (1,3)", [1, 3]),
        ("mine=yes,rank notin (0, 1, 2)", [3, 4]),
        ("mine,!nonsense", [0, 1, 2, 3, 4]),
        ("nonsense", []),
    ],
)
def test_label_selectors(api: Api, five: str, selector: str, found: list[int]) -> None:
    assert api.get(five, labelSelector=selector).names == [f"c{index}" for index in found]


def test_selectors_that_cannot_be_read(api: Api, five: str) -> None:
    reply = api.get(five, labelSelector="rank in (1")
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")
    assert "unable to parse requirement" in reply.body["message"]


def test_field_selectors(api: Api, five: str, pods: str) -> None:
    assert api.get(five, fieldSelector="metadata.name=c3").names == ["c3"]
    assert api.get(five, fieldSelector="metadata.name!=c3", labelSelector=OURS).names == ["c0", "c1", "c2", "c4"]
    api.made(pods, a_pod("waits", nodeSelector={"nowhere": "x"}))
    api.made(pods, a_pod("placed", nodeName="contract-nowhere"))
    assert api.get(pods, fieldSelector="spec.nodeName=contract-nowhere").names == ["placed"]
    assert set(api.get(pods, fieldSelector="status.phase=Pending").names) == {"waits", "placed"}
    assert api.get(pods, fieldSelector="spec.nonsense=1").code == 400


def test_pages_show_one_revision(api: Api, five: str) -> None:
    first = api.get(five, limit=2, labelSelector=OURS)
    assert first.names == ["c0", "c1"]
    api.delete(f"{five}/c2")
    api.made(five, a_config("c9", labels={OURS: "yes"}))
    second = api.get(five, limit=2, labelSelector=OURS, **{"continue": first.body["metadata"]["continue"]})
    assert second.names == ["c2", "c3"], "as it was at the first page"
    assert second.version == first.version
    third = api.get(five, limit=2, labelSelector=OURS, **{"continue": second.body["metadata"]["continue"]})
    assert third.names == ["c4"]
    assert "continue" not in third.body["metadata"]


def test_pages_tell_how_much_is_left(api: Api, five: str) -> None:
    whole = len(api.get(five).names)
    assert api.get(five, limit=2).body["metadata"]["remainingItemCount"] == whole - 2
    assert "remainingItemCount" not in api.get(five, limit=2, labelSelector=OURS).body["metadata"]


def test_a_token_that_is_none(api: Api, five: str) -> None:
    reply = api.get(five, **{"continue": "nonsense"})
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")


def test_the_version_of_a_list_is_as_new_as_its_items(api: Api, five: str) -> None:
    listed = api.get(five)
    assert int(listed.version) >= max(int(item["metadata"]["resourceVersion"]) for item in listed.body["items"])
    assert listed.body["kind"] == "ConfigMapList"


def test_a_version_of_the_future(api: Api, five: str) -> None:
    future = int(api.get(five).version) + 1_000_000
    reply = api.get(five, resourceVersion=future)
    assert (reply.code, reply.body["reason"]) == (504, "Timeout")
    assert reply.causes[0]["reason"] == "ResourceVersionTooLarge"
    assert api.get(five, resourceVersion="nonsense").code == 400


def test_a_list_at_exactly_one_version(api: Api, five: str) -> None:
    then = api.get(five, labelSelector=OURS)
    api.delete(f"{five}/c0")
    past = api.get(five, labelSelector=OURS, resourceVersion=then.version, resourceVersionMatch="Exact")
    assert past.names == then.names
    assert past.version == then.version
    assert api.get(five, resourceVersionMatch="Exact").code == 422, "there must be a version to match"


def test_all_namespaces_at_once(api: Api, five: str, ns: str) -> None:
    found = api.get("/api/v1/configmaps", labelSelector=f"{OURS}=yes").body["items"]
    assert [item["metadata"]["name"] for item in found if item["metadata"]["namespace"] == ns] == [
        f"c{n}" for n in range(5)
    ]


def test_a_table_for_people(api: Api, five: str) -> None:
    table = api.get(five, labelSelector="rank=1", accept=TABLE).body
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["c1", 0]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_metadata_alone(api: Api, five: str) -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    found = api.get(five, labelSelector="rank=1", accept=accept).body
    assert found["kind"] == "PartialObjectMetadataList"
    assert found["items"][0]["metadata"]["labels"]["rank"] == "1"
    assert "data" not in found["items"][0]
