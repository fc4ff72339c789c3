"""What is special of each kind, as one table: defaults, preparation, faults. A kind that is not here is plain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from trainyard.cluster_double.core.errors import Cause
from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.rules import jobs, names, others, pods
from trainyard.cluster_double.core.rules.metadata import NameFault
from trainyard.cluster_double.core.rules.others import no_faults, unchanged

Change = Callable[[Json], Json]
Faults = Callable[[Json], Iterable[Cause]]
UpdateFaults = Callable[[Json, Json], Iterable[Cause]]


@dataclass(frozen=True, slots=True)
class Strategy:
    defaults: Change = unchanged
    """What the server fills in, at every write."""
    prepare: Change = unchanged
    """Once, at creation, when the uid is known."""
    faults: Faults = no_faults
    update_faults: UpdateFaults = no_faults
    name_fault: NameFault = names.subdomain_fault
    initial_status: Json = field(default_factory=dict)


def _label(name: str) -> str | None:
    return names.label_fault(name)


def _pod_defaults(pod: Json) -> Json:
    return pods.with_defaults(pod)


_WORKLOAD = Strategy(
    others.workload_defaults, faults=others.workload_faults, update_faults=others.workload_update_faults
)
_RBAC = Strategy(name_fault=names.path_fault)

STRATEGIES: dict[str, Strategy] = {
    "/pods": Strategy(
        _pod_defaults, faults=pods.faults, update_faults=pods.update_faults, initial_status={"phase": "Pending"}
    ),
    "batch/jobs": Strategy(jobs.with_defaults, jobs.prepare, jobs.faults, jobs.update_faults),
    "/services": Strategy(
        others.service_defaults,
        faults=others.service_faults,
        update_faults=others.service_update_faults,
        name_fault=_label,
        initial_status={"loadBalancer": {}},
    ),
    "/namespaces": Strategy(others.namespace_defaults, name_fault=_label, initial_status={"phase": "Active"}),
    "/configmaps": Strategy(update_faults=others.sealed_update_faults),
    "/secrets": Strategy(
        others.secret_defaults, faults=others.secret_faults, update_faults=others.secret_update_faults
    ),
    "/events": Strategy(faults=others.event_faults),
    "/persistentvolumeclaims": Strategy(
        others.claim_defaults, faults=others.claim_faults, initial_status={"phase": "Pending"}
    ),
    "apps/deployments": _WORKLOAD,
    "apps/statefulsets": _WORKLOAD,
    "apps/replicasets": _WORKLOAD,
    "policy/poddisruptionbudgets": Strategy(
        faults=others.budget_faults,
        initial_status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    ),
    "scheduling.k8s.io/priorityclasses": Strategy(
        others.priority_defaults, update_faults=others.priority_update_faults
    ),
    "rbac.authorization.k8s.io/roles": _RBAC,
    "rbac.authorization.k8s.io/rolebindings": _RBAC,
    "rbac.authorization.k8s.io/clusterroles": _RBAC,
    "rbac.authorization.k8s.io/clusterrolebindings": _RBAC,
}
PLAIN = Strategy()


def strategy_of(storage: str) -> Strategy:
    return STRATEGIES.get(storage, PLAIN)
