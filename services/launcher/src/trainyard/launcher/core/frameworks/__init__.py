"""One pure module a framework, and the one table of them: what forms the process group of each."""

from __future__ import annotations

from trainyard.launcher.core.frameworks import generic, pytorch
from trainyard.launcher.core.frameworks.shape import Adapter

ADAPTERS: dict[str, Adapter] = {
    "generic": generic.environment,
    "pytorch": pytorch.environment,
}
