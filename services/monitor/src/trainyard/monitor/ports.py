"""What the monitor needs beside the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from trainyard.common.contract.events import Device, Usage


class Collector(Protocol):
    """One source of device samples. A driver's failure is a missing value, never an exception."""

    def devices(self) -> list[Device]: ...

    def usage(self, pids: Mapping[str, Sequence[int]]) -> list[Usage]:
        """What each job uses; `pids` are the ranks' main processes by job."""
        ...
