"""The kinds that the double serves, as one table; custom kinds join it at run time (`Registry.add`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version. Versions of a custom kind share `storage`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    status: bool = False
    """Whether /status is a resource of its own, so that the main one ignores the status."""
    subresources: tuple[str, ...] = ()
    """Others than status."""
    categories: tuple[str, ...] = ()
    unconditional_update: bool = True
    """Whether a PUT without a resourceVersion is taken."""
    custom: bool = False
    generations: bool = True
    """Whether metadata.generation counts the spec's changes."""
    returns_deleted: bool = False
    """Whether DELETE answers with the object instead of a Status."""
    orphans: bool = False
    """Whether dependents stay when a deletion does not say what becomes of them."""
    singular_name: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> str:
        return f"{self.group}/{self.plural}"

    @property
    def singular(self) -> str:
        return self.singular_name or self.kind.lower()

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"


def _core(plural: str, kind: str, **more: object) -> Resource:
    return Resource("", "v1", plural, kind, **{"generations": False, **more})  # type: ignore[arg-type]


BUILT_IN: tuple[Resource, ...] = (
    _core("bindings", "Binding"),
    _core("configmaps", "ConfigMap", short=("cm",)),
    _core("endpoints", "Endpoints", short=("ep",)),
    _core("events", "Event", short=("ev",)),
    _core("limitranges", "LimitRange", short=("limits",)),
    _core(
        "namespaces",
        "Namespace",
        short=("ns",),
        namespaced=False,
        status=True,
        subresources=("finalize",),
        returns_deleted=True,
    ),
    _core("nodes", "Node", short=("no",), namespaced=False, status=True),
    _core("persistentvolumeclaims", "PersistentVolumeClaim", short=("pvc",), status=True, returns_deleted=True),
    _core("persistentvolumes", "PersistentVolume", short=("pv",), namespaced=False, status=True, returns_deleted=True),
    _core(
        "pods",
        "Pod",
        short=("po",),
        status=True,
        generations=True,
        subresources=("binding", "eviction", "log"),
        categories=("all",),
        returns_deleted=True,
    ),
    _core("resourcequotas", "ResourceQuota", short=("quota",), status=True, returns_deleted=True),
    _core("secrets", "Secret"),
    _core("serviceaccounts", "ServiceAccount", short=("sa",), returns_deleted=True),
    _core("services", "Service", short=("svc",), status=True, categories=("all",), returns_deleted=True),
    Resource("apps", "v1", "daemonsets", "DaemonSet", short=("ds",), status=True, categories=("all",)),
    Resource("apps", "v1", "deployments", "Deployment", short=("deploy",), status=True, categories=("all",)),
    Resource("apps", "v1", "replicasets", "ReplicaSet", short=("rs",), status=True, categories=("all",)),
    Resource("apps", "v1", "statefulsets", "StatefulSet", short=("sts",), status=True, categories=("all",)),
    Resource("batch", "v1", "cronjobs", "CronJob", short=("cj",), status=True, categories=("all",)),
    Resource("batch", "v1", "jobs", "Job", status=True, categories=("all",), orphans=True),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        short=("crd", "crds"),
        status=True,
        categories=("api-extensions",),
        returns_deleted=True,
        unconditional_update=False,
    ),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", generations=False, unconditional_update=False),
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress", short=("ing",), status=True),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", short=("netpol",)),
    Resource(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        short=("pdb",),
        status=True,
        unconditional_update=False,
    ),
    Resource(
        "rbac.authorization.k8s.io",
        "v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        namespaced=False,
        generations=False,
    ),
    Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False, generations=False),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", generations=False),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role", generations=False),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, short=("pc",)),
    Resource(
        "storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False, short=("sc",), generations=False
    ),
)


class Registry:
    """Which resources are served now."""

    def __init__(self, resources: Iterable[Resource] = BUILT_IN) -> None:
        self._served: dict[tuple[str, str, str], Resource] = {}
        for resource in resources:
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._served.values())

    def add(self, resource: Resource) -> None:
        self._served[resource.group, resource.version, resource.plural] = resource

    def remove(self, group: str, plural: str) -> None:
        for key in [key for key in self._served if (key[0], key[2]) == (group, plural)]:
            del self._served[key]

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._served.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        return next((found for found in self if (found.api_version, found.kind) == (api_version, kind)), None)

    def named(self, plural: str, group: str = "") -> Resource:
        """The resource by its plural; raises KeyError."""
        for (its_group, _, its_plural), resource in self._served.items():
            if (its_group, its_plural) == (group, plural):
                return resource
        raise KeyError(f"no resource {plural}.{group} is served")

    def groups(self) -> dict[str, list[str]]:
        """Group → versions, the preferred one first."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._served:
            versions = found.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        return {group: sorted(versions, key=_age, reverse=True) for group, versions in found.items()}

    def of_group(self, group: str, version: str) -> list[Resource]:
        return [r for (g, v, _), r in sorted(self._served.items()) if (g, v) == (group, version)]

    def versions(self, resource: Resource) -> list[Resource]:
        return [found for found in self if found.storage == resource.storage]


def _age(version: str) -> tuple[int, int, int]:
    """Sorts v1alpha1 < v1beta1 < v1 < v2, as Kubernetes prefers them."""
    digits = version.removeprefix("v")
    for rank, word in enumerate(("alpha", "beta")):
        major, found, minor = digits.partition(word)
        if found:
            return rank, int(major or 0), int(minor or 0)
    return (2, int(digits), 0) if digits.isdecimal() else (-1, 0, 0)
