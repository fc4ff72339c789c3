"""The fact tables that are shipped with this package."""

from __future__ import annotations

from functools import cache
from importlib import resources

from trainyard.matrix.core import facts
from trainyard.matrix.core.facts import Facts


@cache
def shipped() -> Facts:
    """Read and indexed once a process."""
    folder = resources.files("trainyard.matrix").joinpath("facts")
    return facts.parse({name: folder.joinpath(f"{name}.tsv").read_text() for name in facts.TABLES})
