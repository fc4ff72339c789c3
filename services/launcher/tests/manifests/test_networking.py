"""Names and ports: what they are, that they fit, and that jobs and attempts never meet on them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, Offers, build, planned
from trainyard.launcher.core.manifests.names import Names

Make = Callable[..., Job]
LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", fullmatch=True)
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
HOST: dict[str, Any] = {"host_network": True, "security": "privileged"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=LABEL, role=LABEL, index=st.integers(0, 9999), attempt=st.integers(1, 999), jobset=st.booleans())
def test_names_fit_whatever_the_job_is_called(
    resolved: Make, name: str, role: str, index: int, attempt: int, jobset: bool
) -> None:
    roles = {role: {}, "other": {}} if jobset and role != "other" else {role: {}}
    job = resolved(attempt, name=name, framework="generic", roles=roles)
    cluster = Cluster(offers=Offers(jobset=jobset))
    names = Names.of(job, cluster)
    pod = names.host(role, index).partition(".")[0]
    for part in (names.root, names.maker(role), pod):
        assert len(part) <= 63
        assert DNS_1035.fullmatch(part)
    assert len(f"{pod}-abcde") <= 63, "the Job controller adds five characters to a pod's own name"
    assert Names.of(job, cluster) == names
    again = resolved(attempt + 1, name=name, framework="generic", roles=roles)
    assert Names.of(again, cluster).root != names.root


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(roles=st.lists(LABEL, min_size=2, max_size=6, unique=True))
def test_roles_of_a_job_have_makers_of_their_own(resolved: Make, roles: list[str]) -> None:
    names = Names.of(resolved(framework="generic", roles={role: {} for role in roles}), Cluster())
    assert len({names.maker(role) for role in roles}) == len(roles)


def plan_of(made: Any) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(made.root["binaryData"]["plan.json.gz"])))


def test_jobs_on_the_nodes_network_have_ports_of_their_own(resolved: Make) -> None:
    firsts = {
        planned.host_port(resolved(job_id=f"job-{n}", replicas=2, processes=4, kubernetes=HOST), 8) for n in range(50)
    }
    assert len(firsts) >= 48, "a hash of the job, not a constant"
    assert all(port >= 20_000 and port + 8 < 30_000 for port in firsts)
    job = resolved(replicas=2, processes=4, framework="pytorch", kubernetes=HOST)
    made = build(job, Cluster())
    service, maker = made.rest
    env = {item["name"]: item["value"] for item in maker["spec"]["template"]["spec"]["containers"][0]["env"]}
    ends = [int(end.rpartition(":")[2]) for end in env["TRAINYARD_ENDPOINTS"].split(",")]
    assert len({*ends, int(env["MASTER_PORT"])}) == 9, "two pods of the job may share the node as well"
    assert service["spec"]["ports"][0]["port"] == int(env["MASTER_PORT"])
    assert "GLOO_SOCKET_IFNAME" not in env, "nobody here knows what a node calls its interface"
    assert maker["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_pods_wait_for_one_another_and_in_large_jobs_for_the_first(resolved: Make) -> None:
    small = plan_of(build(resolved(framework="pytorch", replicas=3, processes=2), Cluster()))
    assert len(small["hosts"]) == 3
    large = plan_of(build(resolved(framework="pytorch", replicas=200), Cluster()))
    assert len(large["hosts"]) == 1
    assert large["hosts"][0].split(".")[0].endswith("-worker-0")


def test_20_the_service_names_pods_that_are_not_ready(resolved: Make) -> None:
    """They have to find one another to become ready."""
    for cluster in (Cluster(), Cluster(offers=Offers(jobset=True))):
        service, maker = build(resolved(framework="pytorch", replicas=3), cluster).rest
        assert service["spec"]["publishNotReadyAddresses"] is True
        assert service["spec"]["clusterIP"] == "None"
        assert maker["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    _, gang = build(resolved(framework="pytorch", replicas=3), Cluster(offers=Offers(volcano=True))).rest
    assert "--publish-not-ready-addresses=true" in gang["spec"]["plugins"]["svc"]
