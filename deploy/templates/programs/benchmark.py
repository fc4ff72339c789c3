"""How long a command takes: run again and again, told as median, fastest and slowest.

Run by the template `benchmark`: `benchmark.py --repeats 5 --warmup 1 COMMAND`. Results are progress metrics of the job and
`benchmark.json` in its output folder. A run that fails ends the benchmark with its exit code.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time

from trainyard.worker import output_dir, report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("command")
    options = parser.parse_args()
    command = shlex.split(options.command)
    taken: list[float] = []
    for number in range(1, options.warmup + options.repeats + 1):
        began = time.perf_counter()
        code = subprocess.run(command, check=False).returncode
        seconds = time.perf_counter() - began
        if code:
            sys.exit(code if code > 0 else 1)
        if number > options.warmup:
            taken.append(seconds)
            report(step=len(taken), steps=options.repeats, seconds=seconds, median_seconds=statistics.median(taken))
    result = {"command": command, "seconds": taken, "median": statistics.median(taken)}
    (output_dir() / "benchmark.json").write_text(json.dumps(result))
    print(f"median {result['median']:.4f} s, fastest {min(taken):.4f} s, slowest {max(taken):.4f} s", flush=True)


if __name__ == "__main__":
    main()
