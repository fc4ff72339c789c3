"""Another size for a job file: which role is meant, and which sizes there can be."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract.resizing import resized, role_of, sized, sizes, sizes_of
from trainyard.common.errors import InvalidInput
from trainyard.common.testing.builders import spec

ROLES: dict[str, Any] = {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4}}
TORCHRUN: dict[str, Any] = {"name": "pytorch", "mode": "torchrun", "elastic": {"min_replicas": 2, "max_replicas": 6}}


def test_both_ways_to_write_a_job_have_sizes() -> None:
    short, long = spec(replicas=3), spec(framework="tensorflow", roles=ROLES)
    assert sizes(short) == sizes_of(short.model_dump(mode="json")) == {"worker": 3}
    assert sizes(long) == sizes_of(long.model_dump(mode="json")) == {"chief": 1, "ps": 2, "worker": 4}
    assert sizes_of({"name": "x"}) == {"worker": 1}


def test_a_size_changes_nothing_else() -> None:
    before = spec(framework="tensorflow", roles=ROLES)
    after = resized(before, "worker", 8)
    assert sizes(after) == {"chief": 1, "ps": 2, "worker": 8}
    assert sized(after, sizes(before)) == before
    assert sized(spec(replicas=2), {"worker": 5, "gone": 3}) == spec(replicas=5)


@pytest.mark.parametrize(
    ("changes", "given", "role"),
    [
        ({"replicas": 2}, None, "worker"),
        ({"roles": {"a": {}}}, None, "a"),
        ({"roles": {"a": {}, "worker": {}}}, None, "worker"),
        ({"roles": {"a": {}, "worker": {}}}, "a", "a"),
    ],
)
def test_the_role_that_is_meant(changes: dict[str, Any], given: str | None, role: str) -> None:
    assert role_of(spec(**changes), given) == role


@pytest.mark.parametrize(
    ("role", "says"),
    [(None, "the job has several roles.*name one of reader, writer"), ("raeder", "no role 'raeder'.*reader")],
)
def test_no_such_role(role: str | None, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        role_of(spec(roles={"reader": {}, "writer": {}}), role)


@pytest.mark.parametrize(
    ("changes", "role", "replicas", "says"),
    [
        ({}, "worker", 0, "at least one replica, not 0.*yard suspend"),
        ({}, "worker", -3, "at least one replica, not -3"),
        ({}, "worker", 10_001, "10000"),
        ({"framework": "tensorflow", "roles": ROLES}, "chief", 2, "role chief is a single process, not 2"),
        ({"framework": TORCHRUN, "replicas": 3}, "worker", 1, "min_replicas is 2, and this would leave 1"),
        ({"framework": TORCHRUN, "replicas": 3}, "worker", 7, "max_replicas is 6, and this would make 7"),
    ],
)
def test_a_size_that_cannot_be(changes: dict[str, Any], role: str, replicas: int, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        resized(spec(**changes), role, replicas)


def test_the_most_is_not_less_than_the_fewest() -> None:
    with pytest.raises(InvalidInput, match="max_replicas is 1, less than min_replicas, which is 2"):
        spec(framework={**TORCHRUN, "elastic": {"min_replicas": 2, "max_replicas": 1}})
