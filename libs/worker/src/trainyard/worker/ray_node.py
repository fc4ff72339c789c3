"""A node of a Ray cluster that belongs to one job: `python -m trainyard.worker.ray_node`, started by the launcher.

The head starts Ray, waits until every node has come, runs the user's command and ends with its exit code. A worker joins and
stays until it is ended. Nodes of several jobs on one machine never meet: each cluster has its own port and folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 300.0  # seconds for the nodes to come
GRACE = 20.0  # seconds for Ray to end


def main() -> None:
    options = parse()
    address: str = options.address
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Paths of Unix sockets are short: the job's own folder may be too deep.
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    node = subprocess.Popen(start_command(options, folder), env={**os.environ, "RAY_ADDRESS": ""})
    try:
        if not options.head:
            sys.exit(node.wait())
        wait_for_nodes(address, options.nodes, node)
        sys.exit(subprocess.run(options.command, env={**os.environ, "RAY_ADDRESS": address}, check=False).returncode)
    finally:
        node.terminate()
        try:
            node.wait(GRACE)
        except subprocess.TimeoutExpired:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True, help="host:port of the head")
    parser.add_argument("--head", action="store_true")
    parser.add_argument("--nodes", type=int, default=1, help="nodes to wait for, the head included")
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.command = [word for index, word in enumerate(options.command) if index or word != "--"]
    return options


def start_command(options: argparse.Namespace, folder: Path) -> list[str]:
    port = options.address.rpartition(":")[2]
    ray = str(Path(sys.executable).with_name("ray"))
    common = ["--num-cpus", str(options.cpus), "--disable-usage-stats", "--block"]
    if options.head:
        return [
            *(ray, "start", "--head", "--port", port, "--temp-dir", str(folder)),
            *("--include-dashboard", "false", *common),
        ]
    return [ray, "start", "--address", options.address, *common]


def wait_for_nodes(address: str, count: int, node: subprocess.Popen[bytes]) -> None:
    """Asks the head; raises RuntimeError when it ends or when not all have come."""
    import ray

    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + PATIENCE
    alive = 0
    while time.monotonic() < deadline:
        if node.poll() is not None:
            raise RuntimeError(f"ray start ended with code {node.returncode} before the cluster was there")
        try:
            socket.create_connection((host, int(port)), 1).close()  # Ray itself would wait for a minute in silence
            if not ray.is_initialized():
                ray.init(address=address, logging_level="ERROR", log_to_driver=False)
            alive = sum(item["Alive"] for item in ray.nodes())
        except (OSError, RuntimeError):
            alive = 0
        if alive >= count:
            ray.shutdown()
            return
        time.sleep(0.5)
    raise RuntimeError(f"{alive} of {count} Ray nodes came to {address} within {PATIENCE:g} s")


if __name__ == "__main__":
    main()
