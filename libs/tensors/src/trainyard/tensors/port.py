"""What a framework needs to exchange tensors with every other: one module of `bridges` each."""

from __future__ import annotations

from typing import Any, Protocol

from trainyard.tensors.capsules import Carrier
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits


class Bridge(Protocol):
    def traits(self) -> Traits: ...

    def owns(self, kind: type) -> bool:
        """Whether tensors of this framework are of this type; asked only of types that come from its package."""

    def facts(self, x: Any) -> Facts:
        """Raises TensorError for what has no memory to share: sparse, traced, with a gradient."""

    def give(self, x: Any) -> Carrier: ...

    def take(self, carrier: Carrier, facts: Facts) -> Any:
        """The tensor of this framework over the carrier's memory; `facts` of its source."""

    def pointer(self, x: Any) -> int:
        """Where its first element lies."""

    def copy(self, x: Any, dtype: str) -> Any:
        """Row-major memory of its own at a multiple of 64 bytes."""

    def cast(self, x: Any, dtype: str) -> Any: ...

    def move(self, x: Any, device: str) -> Any: ...
