"""The data plane against what it is made of, in one run: `python tests/bench/bench_data.py [GIBIBYTES]`.

- on the same host: a dataset by `Client.get` against the same files mapped by hand, both read through once
- from elsewhere: a stream of the data server against a bare Flight server that answers from memory, both in processes
- four readers at once against one, and against the bare server's four
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl

from trainyard.data.testing.process import Process

ROUNDS = 5
BARE = """
import sys, numpy as np, pyarrow as pa, pyarrow.flight as fl
table = pa.table({"x": np.arange(int(sys.argv[1]))})
class Server(fl.FlightServerBase):
    def do_get(self, context, ticket):
        return fl.RecordBatchStream(pa.Table.from_batches(table.to_batches(max_chunksize=2**19)))
server = Server("grpc://127.0.0.1:0")
print(server.port, flush=True)
server.serve()
"""


def read_through(table: pa.Table) -> int:
    return int(pc.sum(table["x"]).as_py())


def mapped(parts: list[Path]) -> pa.Table:
    return pa.concat_tables(pa.ipc.open_file(pa.memory_map(str(part))).read_all() for part in parts)


def timed(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each, the median of rounds that take turns."""
    seen: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seen[name].append(time.perf_counter() - began)
    return {name: median(values) for name, values in seen.items()}


def bare(client: fl.FlightClient) -> pa.Table:
    return client.do_get(fl.Ticket(b"")).read_all()


def at_once(call: Callable[[], object], readers: int = 4) -> None:
    with ThreadPoolExecutor(readers) as pool:
        list(pool.map(lambda _: call(), range(readers)))


def main(size: float) -> None:
    rows = int(size * 2**30 / 8)
    with tempfile.TemporaryDirectory() as folder:
        process = Process(Path(folder, "store")).start()
        other = subprocess.Popen([sys.executable, "-c", BARE, str(rows)], stdout=subprocess.PIPE, text=True)
        try:
            assert other.stdout is not None
            plain = fl.FlightClient(f"grpc://127.0.0.1:{int(other.stdout.readline())}")
            near, far = process.client(same_host=True), process.client()
            version = near.put("numbers", pa.table({"x": np.arange(rows)}))["version"]
            parts = sorted(Path(folder, "store", "datasets", "numbers", "@", version).glob("part-*"))
            seconds = timed(
                {
                    "mapped by hand": lambda: mapped(parts),
                    "same host": lambda: near.get("numbers"),
                    "mapped by hand, read": lambda: read_through(mapped(parts)),
                    "same host, read": lambda: read_through(near.get("numbers")),
                    "bare Flight": lambda: bare(plain),
                    "one stream": lambda: far.get("numbers", streams=1),
                    "two streams": lambda: far.get("numbers", streams=2),
                    "bare Flight, four readers": lambda: at_once(lambda: bare(plain)),
                    "four readers": lambda: at_once(lambda: far.get("numbers", streams=1)),
                }
            )
        finally:
            process.kill()
            other.kill()
            other.wait()
    for name, took in seconds.items():
        print(f"{name:26} {took * 1e3:9.1f} ms  {size / took:9.2f} GiB/s")
    ratio = {
        "same host, read / mapped by hand, read, in speed": ("mapped by hand, read", "same host, read", 1),
        "same host / one stream, in speed": ("one stream", "same host", 1),
        "one stream / bare Flight, in speed": ("bare Flight", "one stream", 1),
        "four readers / one, in bytes a second": ("one stream", "four readers", 4),
        "four readers / bare Flight's four, in speed": ("bare Flight, four readers", "four readers", 1),
    }
    for words, (reference, other, times) in ratio.items():
        print(f"{words}: {times * seconds[reference] / seconds[other]:.2f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
