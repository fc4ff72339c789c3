"""The shape of a kind: which fields there are, of which type, and how its lists and maps merge.

Decoding, pruning, strategic merge and server-side apply all walk an object beside its shape. Shapes of built-in kinds come
from the official client's models (`builtin`), those of custom kinds from their schemas (`structural`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property

from trainyard.cluster_double.core.objects import Json


class Kind(Enum):
    STRUCT = auto()
    MAP = auto()
    LIST = auto()
    STRING = auto()
    INTEGER = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    QUANTITY = auto()
    ANY = auto()


def _no_fields() -> Mapping[str, Shape]:
    return {}


@dataclass(frozen=True, eq=False)
class Shape:
    kind: Kind
    lazy_fields: Callable[[], Mapping[str, Shape]] = _no_fields
    """Of a struct; asked once, when first needed, since some kinds contain themselves."""
    item: Shape | None = None
    """Of a list or map."""
    keys: tuple[str, ...] = ()
    """What identifies an item of a list of structs, for server-side apply."""
    merge_key: str = ""
    """The same for a strategic merge, which knows one key only."""
    is_set: bool = False
    """A list of scalars that merges as a set."""
    atomic: bool = False
    """Replaced as a whole."""
    open: bool = False
    """A struct that keeps fields which it does not know."""
    item_defaults: Json = field(default_factory=dict)
    """Values of keys that an item leaves out."""

    @cached_property
    def fields(self) -> Mapping[str, Shape]:
        return self.lazy_fields()

    def of(self, name: str) -> Shape:
        """The shape of a member; of what is unknown, anything."""
        if self.kind is Kind.STRUCT:
            found = self.fields.get(name)
            if found is not None:
                return found
        return self.item if self.item is not None and self.kind in {Kind.STRUCT, Kind.MAP} else ANY


ANY = Shape(Kind.ANY)
STRING = Shape(Kind.STRING)
INTEGER = Shape(Kind.INTEGER)
NUMBER = Shape(Kind.NUMBER)
BOOLEAN = Shape(Kind.BOOLEAN)
QUANTITY = Shape(Kind.QUANTITY)
