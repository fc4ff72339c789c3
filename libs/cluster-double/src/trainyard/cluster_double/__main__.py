"""`python -m trainyard.cluster_double --port 8080`: a Kubernetes API on loopback to try things against."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from trainyard.cluster_double.server import ClusterDouble


def main() -> None:
    parser = argparse.ArgumentParser(prog="cluster-double", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; a free one by default")
    parser.add_argument("--kubeconfig", type=Path, default=Path(), help="the folder in which to write `kubeconfig`")
    given = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    double = ClusterDouble(port=given.port)
    try:
        double.start()
    except OSError as fault:
        sys.exit(f"port {given.port} cannot be used: {fault}; choose another with --port, or none for a free one")
    path = double.kubeconfig(given.kubeconfig)
    sys.stdout.write(f"{double.url}\nKUBECONFIG={path.resolve()}\n")
    sys.stdout.flush()
    stop.wait()
    double.stop()


if __name__ == "__main__":
    main()
