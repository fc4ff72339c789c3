"""How lists and maps of built-in kinds merge: (model, field) → keys, from the API reference (patch strategy, list type).

A list that is not named here is replaced as a whole, by a strategic merge and by server-side apply alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trainyard.cluster_double.core.objects import Json


@dataclass(frozen=True, slots=True)
class Merging:
    strategic: str = ""
    """The strategic merge's key."""
    apply: tuple[str, ...] = ()
    """Server-side apply's keys."""
    defaults: Json = field(default_factory=dict)


def _by(key: str) -> Merging:
    return Merging(key, (key,))


_TCP = {"protocol": "TCP"}
_CONTAINER = {
    "ports": Merging("containerPort", ("containerPort", "protocol"), _TCP),
    "env": _by("name"),
    "volumeMounts": _by("mountPath"),
    "volumeDevices": _by("devicePath"),
}

LISTS: dict[str, dict[str, Merging]] = {
    "V1Container": _CONTAINER,
    "V1EphemeralContainer": _CONTAINER,
    "V1PodSpec": {
        "containers": _by("name"),
        "initContainers": _by("name"),
        "ephemeralContainers": _by("name"),
        "volumes": _by("name"),
        "imagePullSecrets": _by("name"),
        "hostAliases": _by("ip"),
        "topologySpreadConstraints": Merging("topologyKey", ("topologyKey", "whenUnsatisfiable")),
        "schedulingGates": _by("name"),
        "resourceClaims": _by("name"),
    },
    "V1PodStatus": {"conditions": _by("type"), "podIPs": _by("ip")},
    "V1ObjectMeta": {"ownerReferences": _by("uid")},
    "V1ServiceSpec": {"ports": Merging("port", ("port", "protocol"), _TCP)},
    "V1ServiceStatus": {"conditions": _by("type")},
    "V1ServiceAccount": {"secrets": _by("name")},
    "V1NodeStatus": {"conditions": _by("type"), "addresses": _by("type")},
    "V1JobStatus": {"conditions": Merging("type")},
    "V1DeploymentStatus": {"conditions": _by("type")},
    "V1ReplicaSetStatus": {"conditions": _by("type")},
    "V1StatefulSetStatus": {"conditions": _by("type")},
    "V1DaemonSetStatus": {"conditions": _by("type")},
    "V1NamespaceStatus": {"conditions": _by("type")},
    "V1PersistentVolumeClaimStatus": {"conditions": _by("type")},
    "V1PodDisruptionBudgetStatus": {"conditions": _by("type")},
    "V1CustomResourceDefinitionStatus": {"conditions": _by("type")},
}

SETS: dict[str, frozenset[str]] = {"V1ObjectMeta": frozenset({"finalizers"}), "V1NodeSpec": frozenset({"podCIDRs"})}

ATOMIC: dict[str, frozenset[str]] = {
    "V1PodSpec": frozenset({"nodeSelector"}),
    "V1ServiceSpec": frozenset({"selector"}),
}
"""Maps that server-side apply replaces as a whole."""

ATOMIC_MODELS = frozenset(
    {
        "V1LabelSelector",
        "V1LocalObjectReference",
        "V1ObjectFieldSelector",
        "V1ResourceFieldSelector",
        "V1SecretKeySelector",
        "V1ConfigMapKeySelector",
        "V1NodeSelector",
        "V1NodeSelectorTerm",
        "V1ObjectReference",
        "V1OwnerReference",
        "V1SecretReference",
        "V1TypedLocalObjectReference",
    }
)

QUANTITY_MAPS = frozenset(
    {
        "allocatable",
        "allocatedResources",
        "capacity",
        "default",
        "defaultRequest",
        "hard",
        "limits",
        "max",
        "maxLimitRequestRatio",
        "min",
        "overhead",
        "requests",
        "used",
    }
)
QUANTITIES = frozenset({"divisor", "sizeLimit"})
