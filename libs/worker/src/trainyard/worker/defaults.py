"""Settings that people otherwise forget, each with an off switch, each told.

`TRAINYARD_DEFAULTS=off` switches all of them off, `TRAINYARD_DEFAULTS=-memory-growth,-nccl_debug` some. A variable that is
set already is never touched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

SWITCH = "TRAINYARD_DEFAULTS"


def wanted(name: str) -> bool:
    """Whether a default is on. Names are those of the variables in lower case, or what this library calls them."""
    switched = [word.strip().lower() for word in os.environ.get(SWITCH, "").split(",")]
    return "off" not in switched and f"-{name.lower()}" not in switched


def environment(values: Mapping[str, str]) -> dict[str, str]:
    """Sets what is neither set nor switched off, and tells it. Gives what it has set."""
    chosen = {name: value for name, value in values.items() if name not in os.environ and wanted(name)}
    os.environ.update(chosen)
    if chosen:
        told(" ".join(f"{name}={value}" for name, value in chosen.items()))
    return chosen


def told(what: str) -> None:
    """Once, on the first process of the job."""
    from trainyard.worker.place import here

    if here().rank == 0:
        print(f"trainyard: {what} ({SWITCH}=off leaves the framework's own)", flush=True)
