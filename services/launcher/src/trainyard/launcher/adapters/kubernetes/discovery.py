"""What is installed in a cluster: asked once, when a launcher starts."""

from __future__ import annotations

from trainyard.common.errors import Unavailable
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api, Refused
from trainyard.launcher.adapters.kubernetes.kinds import Kind
from trainyard.launcher.core.manifests import Offers

_MAKERS = (kinds.JOB, kinds.JOB_SET, kinds.VOLCANO_JOB)


async def groups(api: Api) -> frozenset[str]:
    """`batch/v1`, `jobset.x-k8s.io/v1alpha2` …: every version of every API group. Raises Unavailable and Refused."""
    try:
        found = await api.call("GET", "/apis")
    except Refused as error:
        if error.status == 404:
            raise Unavailable("what answers under the cluster's address is no Kubernetes API server") from error
        raise
    return frozenset(
        version["groupVersion"] for group in found.get("groups", ()) for version in group.get("versions", ())
    )


def offers(installed: frozenset[str]) -> Offers:
    names = {version.partition("/")[0] for version in installed}
    return Offers(
        jobset=kinds.JOB_SET.group_version in installed,
        kueue="kueue.x-k8s.io" in names,
        volcano=kinds.VOLCANO_JOB.group_version in installed,
    )


def makers(installed: frozenset[str]) -> list[Kind]:
    """The kinds that make pods and that this cluster has."""
    return [kind for kind in _MAKERS if kind.group_version in installed]
