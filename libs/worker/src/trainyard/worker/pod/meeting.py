"""Waiting until the pods of the job can be found by name.

A headless Service answers for a pod only once that pod has an address, and a resolver may remember for a while that there was
no answer. Frameworks meet that badly: many give up at the first name that does not resolve.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable

PATIENCE = 600.0
"""Seconds; pods of one job start minutes apart where images have to be pulled."""
SAY = 15.0  # seconds between two words about it
PAUSE = 1.0  # seconds between two tries


def missing(hosts: Iterable[str]) -> list[str]:
    return [host for host in hosts if not _resolves(host)]


def wait(hosts: list[str], patience: float, say: Callable[[str], None], stopped: Callable[[], bool]) -> list[str]:
    """Until all resolve, the patience is spent or somebody stops it. Those that do not resolve; empty: all do."""
    began = told = time.monotonic()
    left = missing(hosts)
    while left and not stopped() and time.monotonic() - began < patience:
        if time.monotonic() - told >= SAY:
            told = time.monotonic()
            say(f"waiting for {len(left)} of {len(hosts)} pods to be found by name, {left[0]} first")
        time.sleep(min(PAUSE, patience))
        left = missing(left)
    return left


def _resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False
