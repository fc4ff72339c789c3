"""Free ports of this machine.

Between choosing a port and listening on it seconds may pass. So ports are taken below the range from which the kernel gives
ports to outgoing connections (32768 on Linux, 49152 on macOS): from there one can be taken by chance, even by the very
client that tries to reach it. A connection from a port to itself succeeds on loopback while nobody listens, and whoever
comes to listen finds the port in use.
"""

from __future__ import annotations

import errno
import random
import socket
from pathlib import Path

_KERNEL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_COUNT = 12_000


def _below_the_kernels() -> range:
    try:
        first = int(_KERNEL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 49_152  # RFC 6335; macOS keeps to it
    end = min(first, 32_000)
    return range(end - _COUNT, end) if end - _COUNT > 1024 else range(20_000, 32_000)


PORTS = _below_the_kernels()
"""Ports for whoever needs one: 20000 to 32000 on most machines."""


def free_port() -> int:
    """A TCP port that nobody holds at this moment; whoever uses it must bear that it was taken since."""
    while True:
        port = random.choice(PORTS)  # noqa: S311 - spreads callers, keeps nothing secret
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    """Whether it can be listened on, on every address. A server on `::1` alone is no trouble to IPv4, but it is to whoever
    listens on `[::]`, as most frameworks do where they can."""
    return _binds(socket.AF_INET, port) and _binds(socket.AF_INET6, port)


def _binds(family: socket.AddressFamily, port: int) -> bool:
    try:
        probe = socket.socket(family)
    except OSError:  # a kernel without IPv6
        return True
    with probe:
        try:
            if family is socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(("", port))
        except OSError as error:
            return error.errno == errno.EADDRNOTAVAIL  # IPv6 is switched off: nobody else can listen there either
    return True
