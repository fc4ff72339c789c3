"""Every sentence that a job can be refused with on a cluster, and what makes it go away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, Offers, faults

Make = Callable[..., Job]
BARE = Offers()
PS: dict[str, Any] = {"chief": {}, "ps": {}, "worker": {}}


@pytest.mark.parametrize(
    ("changes", "offers", "sentence", "cured"),
    [
        ({"kubernetes": {"gang": "volcano"}}, BARE, "Volcano is not installed", Offers(volcano=True)),
        ({"kubernetes": {"gang": "kueue", "queue": "q"}}, BARE, "Kueue is not installed", Offers(kueue=True)),
        ({"kubernetes": {"queue": "q"}}, BARE, "neither Kueue nor Volcano is installed", Offers(volcano=True)),
        (
            {"framework": "tensorflow", "roles": PS, "kubernetes": {"queue": "q"}},
            Offers(kueue=True),
            "the roles chief, ps, worker are several Jobs",
            Offers(kueue=True, jobset=True),
        ),
    ],
)
def test_what_the_cluster_lacks(resolved: Make, changes: Any, offers: Offers, sentence: str, cured: Offers) -> None:
    made = resolved(**changes)
    (found,) = faults(made, Cluster(offers=offers))
    assert sentence in found
    assert faults(made, Cluster(offers=cured)) == []


@pytest.mark.parametrize(
    ("changes", "sentence", "cure"),
    [
        (
            {"kubernetes": {"gang": "kueue"}},
            "needs `kubernetes.queue`",
            {"kubernetes": {"gang": "kueue", "queue": "q"}},
        ),
        (
            {"framework": "mpi", "replicas": 2, "processes": 4},
            "say `replicas: 1` and `processes: 8`",
            {"framework": "mpi", "replicas": 1, "processes": 8},
        ),
        ({"framework": "horovod", "replicas": 3}, "say `replicas: 1` and `processes: 3`", {"framework": "horovod"}),
        ({"env": {"BIG": "x" * 131_069}}, "variable BIG is longer than", {"env": {"BIG": "x" * 131_000}}),
        (
            {"env": {f"BIG{n}": "x" * 60_000 for n in range(10)}},
            "the variables of role worker take 60",
            {"env": {"BIG": "x" * 60_000}},
        ),
    ],
)
def test_what_the_job_asks_for(resolved: Make, changes: Any, sentence: str, cure: Any) -> None:
    cluster = Cluster(offers=Offers(kueue=True))
    found = faults(resolved(**changes), cluster)
    assert len(found) == 1, found
    assert sentence in found[0]
    assert faults(resolved(**cure), cluster) == []


def test_an_image_that_was_never_pushed(resolved: Make) -> None:
    made = resolved()
    assert faults(made, Cluster()) == []
    assert made.resolution is not None
    bare = replace(made, resolution=made.resolution.model_copy(update={"reference": None}))
    assert "image pytorch has no reference in a registry" in faults(bare, Cluster())[0]
    assert "image (none yet) has no reference" in faults(replace(made, resolution=None), Cluster())[0]


def test_more_ranks_than_a_node_has_ports(resolved: Make) -> None:
    wants = {"host_network": True, "security": "privileged"}
    large = resolved(framework="generic", replicas=10_000, kubernetes=wants)
    assert "`kubernetes.host_network` has a port for each rank" in faults(large, Cluster())[0]
    assert faults(resolved(framework="generic", replicas=10, kubernetes=wants), Cluster()) == []


def test_a_launcher_of_some_namespaces_names_them(resolved: Make) -> None:
    made, some = resolved(kubernetes={"namespace": "c"}), frozenset({"a", "b"})
    (found,) = faults(made, Cluster(namespace="a", namespaces=some))
    assert found == "`kubernetes.namespace: c`, but this launcher works in a, b only: name one of them"
    assert faults(resolved(kubernetes={"namespace": "b"}), Cluster(namespace="a", namespaces=some)) == []


def test_who_submits_to_us_reaches_no_namespace_that_nobody_has_named(resolved: Make) -> None:
    """There the launcher's own rights would mount any Secret and take any service account for them."""
    made, cluster = resolved(kubernetes={"namespace": "kube-system"}), Cluster(namespace="jobs")
    (found,) = faults(replace(made, owner="ada"), cluster)
    assert found.startswith(
        "`kubernetes.namespace: kube-system`, but who submits to Trainyard itself may use jobs only"
    )
    assert "TRAINYARD_NAMESPACES" in found
    assert len(faults(replace(made, owner="kubernetes/team-a"), cluster)) == 1
    assert faults(replace(made, owner="kubernetes/kube-system"), cluster) == []  # the API server let them
    assert faults(replace(resolved(kubernetes={"namespace": "jobs"}), owner="ada"), cluster) == []
    assert faults(replace(resolved(), owner="ada"), cluster) == []
