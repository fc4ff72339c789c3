"""Free ports of this machine."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A TCP port on loopback that nobody holds at this moment; whoever uses it must bear that it was taken since."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
