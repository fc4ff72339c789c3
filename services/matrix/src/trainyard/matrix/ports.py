"""What the matrix needs beside the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from trainyard.matrix.core.images import Image
from trainyard.matrix.core.inventory import Inventory


class Images(Protocol):
    def all(self) -> Sequence[Image]:
        """Every image of the catalogue and the built-in ones."""
        ...


class Nodes(Protocol):
    def inventory(self) -> Inventory:
        """What the yard has at this moment."""
        ...
