"""One rank of a parameter sweep: the command, with this rank's value of the option.

Run by the template `parameter-sweep`: `sweep.py OPTION VALUES COMMAND`. VALUES are words; rank n takes the n-th. The
command's output is the rank's log, its exit code the rank's.
"""

import os
import shlex
import sys

from trainyard.worker import report


def main() -> None:
    option, values, command = sys.argv[1], shlex.split(sys.argv[2]), shlex.split(sys.argv[3])
    rank, ranks = int(os.environ["TRAINYARD_RANK"]), int(os.environ["TRAINYARD_WORLD_SIZE"])
    if ranks != len(values):
        sys.exit(f"{len(values)} values need {len(values)} processes, not {ranks}: set processes to {len(values)}")
    line = [*command, option, values[rank]]
    print(f"rank {rank}: {shlex.join(line)}", flush=True)
    report(step=0, steps=1)
    try:
        os.execvp(line[0], line)
    except OSError as error:
        sys.exit(f"{line[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main()
