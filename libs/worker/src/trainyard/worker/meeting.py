"""Ports of an attempt, looked at before a framework listens on them."""

from __future__ import annotations

import errno
import os
import socket
import time

PATIENCE = 15.0
"""Seconds that rank 0 waits for its port to become free."""


def wait_for_port(port: int, patience: float, where: str) -> None:
    """Until the port can be listened on: an attempt that has just ended may hold it for a moment. Looked at beforehand,
    because frameworks answer a taken port badly: torch counts up the name of the group with every failed
    `init_process_group`, and the ranks no longer meet. Raises RuntimeError."""
    deadline = time.monotonic() + min(patience, PATIENCE)
    while True:
        try:
            _bind(port)
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return  # the framework will say it better
        if time.monotonic() > deadline:
            raise RuntimeError(f"{where} is taken by another process: the job needs a free MASTER_PORT")
        time.sleep(0.25)


def _bind(port: int) -> None:
    """Not `listen`: a peer that came in that moment would be let in and thrown out again."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of an ended attempt do not count
        probe.bind(("", port))


def required(*names: str, framework: str) -> list[str]:
    """The values of environment variables. Raises RuntimeError that names what is missing."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} not set: a job with `framework: {framework}` gets them")
    return [os.environ[name] for name in names]


def first_sentence(error: BaseException) -> str:
    """The first line: frameworks append stacks of their own C++ frames."""
    return str(error).strip().split("\n")[0][:300]
