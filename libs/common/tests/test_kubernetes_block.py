"""The `kubernetes:` block: what a person may write, and in which words the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.errors import InvalidInput


def job(**kubernetes: Any) -> JobSpec:
    return validate(JobSpec, {"name": "a", "framework": "pytorch", "command": "true", "kubernetes": kubernetes})


def test_what_a_cluster_asks_for_can_be_said() -> None:
    made = job(
        queue="team-a",
        gang="kueue",
        tolerations=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}, {}],
        volumes=[{"mount": "/data", "claim": "datasets", "read_only": True}, {"mount": "/tmp/x", "empty": "10Gi"}],
        env_from=[{"secret": "s3"}, {"config_map": "proxy", "key": "url", "name": "HTTPS_PROXY"}],
        resources={"rdma/hca": 1},
        shared_memory="16Gi",
        sidecars=[{"name": "proxy", "image": "example.com/proxy@sha256:" + "a" * 64}],
    ).kubernetes
    assert made is not None
    assert made.shared_memory == 16 * 2**30
    assert made.security == "restricted"
    assert made.volumes[0].claim == "datasets"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"volumes": [{"mount": "/a"}]}, "say one of claim, config_map, secret or empty, not none of them"),
        ({"volumes": [{"mount": "/a", "claim": "x", "secret": "y"}]}, "not claim and secret"),
        ({"volumes": [{"mount": "data", "claim": "x"}]}, "an absolute path"),
        ({"volumes": [{"mount": "/a\0b", "claim": "x"}]}, "NUL"),
        ({"volumes": [{"mount": "/a", "claim": "x"}, {"mount": "/a", "secret": "y"}]}, "two volumes are mounted at /a"),
        ({"volumes": [{"mount": "/a", "claim": "x", "memory": True}]}, "`memory` is for an `empty` volume"),
        ({"tolerations": [{"value": "x"}]}, "`value` without `key`"),
        ({"tolerations": [{"key": "a", "seconds": 3}]}, "`seconds` is for the effect NoExecute"),
        ({"env_from": [{}]}, "say either `secret` or `config_map`"),
        ({"env_from": [{"secret": "s", "name": "A"}]}, "`name` without `key`"),
        ({"host_network": True}, "only allowed with `security: privileged`"),
        ({"sidecars": [{"name": "job", "image": "x"}]}, "two containers are called 'job'"),
        ({"labels": {"a b": "c"}}, "a label's name"),
        ({"queue": "Team_A"}, "a name of a Kubernetes object"),
        ({"gangs": "kueue"}, "did you mean 'gang'?"),
        ({"resources": {"hca": 1}}, "a resource name of Kubernetes"),
    ],
)
def test_mistakes_are_told(block: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        job(**block)
    assert words in str(caught.value.problems if hasattr(caught.value, "problems") else caught.value)
