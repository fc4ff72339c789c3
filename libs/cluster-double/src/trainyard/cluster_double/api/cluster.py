"""The state of one cluster, and what every operation on it needs: store, served resources, shapes, clock, settings."""

from __future__ import annotations

import random
import string
import uuid
from dataclasses import dataclass, field

from trainyard.cluster_double.core.clock import Clock, SystemClock
from trainyard.cluster_double.core.crd import definitions
from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.resources import Registry, Resource
from trainyard.cluster_double.core.schema import builtin, structural
from trainyard.cluster_double.core.schema.shape import Shape
from trainyard.cluster_double.store.store import Store

# The letters that Kubernetes uses in generated names: none that spell words, none that look alike.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Settings:
    """What tests turn. The defaults are those of a real cluster, but for bookmarks, which come more often."""

    history: int = 50_000
    """Events of one kind that a watch can go back."""
    bookmark_seconds: float = 10.0
    job_backoff_seconds: float = 10.0
    """Before the first pod that replaces a failed one; doubles."""
    node_grace_seconds: float = 50.0
    """After which a silent node is Unknown."""
    controllers: bool = True
    """Whether jobs, garbage, namespaces, quotas, budgets and nodes are looked after."""
    scheduler: bool = True
    denied: frozenset[tuple[str, str, str]] = frozenset()
    """What a SelfSubjectAccessReview says no to: API group, resource, verb. Requests are not refused for it."""
    seed: int | None = None
    """Of generated names and uids; None is different every time."""


@dataclass
class Cluster:
    settings: Settings = field(default_factory=Settings)
    clock: Clock = field(default_factory=SystemClock)
    registry: Registry = field(default_factory=Registry)

    def __post_init__(self) -> None:
        self.store = Store(self.settings.history)
        self.definitions: dict[tuple[str, str], Json] = {}
        """(group, plural) → the definition that is served."""
        self._shapes: dict[tuple[str, str, str], Shape] = {}
        self._gone: dict[str, float] = {}
        self._random = random.Random(self.settings.seed)  # noqa: S311  (names, not secrets)

    def shape(self, resource: Resource) -> Shape:
        if not resource.custom:
            return builtin.shape_of(resource)
        key = (resource.group, resource.version, resource.plural)
        if key not in self._shapes:
            self._shapes[key] = structural.shape_of(self.schema(resource), root=True)
        return self._shapes[key]

    def schema(self, resource: Resource) -> Json:
        """A custom kind's schema. Raises KeyError for a built-in kind."""
        return definitions.schema_of(self.definitions[resource.group, resource.plural], resource.version)

    def serve(self, definition: Json) -> None:
        """Serves the resources of a definition, as it is now."""
        spec = definition["spec"]
        key = (spec["group"], spec["names"]["plural"])
        self.forget(*key)
        self.definitions[key] = definition
        for resource in definitions.resources_of(definition):
            self.registry.add(resource)

    def forget(self, group: str, plural: str) -> None:
        """Serves a custom kind no more."""
        if self.definitions.pop((group, plural), None) is not None:
            self.registry.remove(group, plural)
            self._shapes = {key: shape for key, shape in self._shapes.items() if (key[0], key[2]) != (group, plural)}

    def gone_since(self, node: str) -> float:
        """Since when a node that is not there is missed: since it was first asked for."""
        return self._gone.setdefault(node, self.clock.now())

    def suffix(self) -> str:
        return "".join(self._random.choices(_LETTERS, k=5))

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def token(self) -> str:
        return "".join(self._random.choices(string.hexdigits.lower(), k=16))
