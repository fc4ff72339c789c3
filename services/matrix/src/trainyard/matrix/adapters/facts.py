"""The fact tables that are shipped with this package."""

from __future__ import annotations

from functools import cache
from importlib import resources

from trainyard.matrix.core.facts import TABLES, Facts
from trainyard.matrix.core.reading import parse


@cache
def shipped() -> Facts:
    """Read and indexed once a process."""
    folder = resources.files("trainyard.matrix").joinpath("facts")
    return parse({name: folder.joinpath(f"{name}.tsv").read_text() for name in TABLES})
