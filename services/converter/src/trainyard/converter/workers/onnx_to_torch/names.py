"""Names of a model are foreign input: what becomes Python is made of ASCII letters, digits and underscores alone."""

from __future__ import annotations

import builtins
import keyword
import re


class Names:
    """One identifier a foreign name, never twice the same, never one that is taken or means something in Python."""

    def __init__(self, taken):
        self._taken = set(taken) | set(keyword.kwlist) | set(keyword.softkwlist) | set(dir(builtins))

    def give(self, foreign):
        stem = re.sub(r"[^0-9A-Za-z_]+", "_", foreign).strip("_")[:60].rstrip("_") or "x"
        if stem[0].isdigit():
            stem = f"x{stem}"
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name
