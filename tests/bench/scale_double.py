"""The cluster's double for bench_launcher_scale.py: it notes when which version of a pod was written.

    python tests/bench/scale_double.py FOLDER

Writes FOLDER/kubeconfig and says `ready`; at its end it writes FOLDER/written.json.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from pathlib import Path

from trainyard.cluster_double.server import ClusterDouble
from trainyard.cluster_double.store.events import Event


def main(folder: Path) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    written: dict[int, float] = {}

    def note(storage: str, event: Event) -> None:
        if storage == "/pods":
            written[event.revision] = time.time()

    with ClusterDouble() as double:
        double.call(lambda: double.cluster.store.listeners.append(note))
        double.kubeconfig(folder)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        stop.wait()
        (folder / "written.json").write_text(json.dumps(written))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
