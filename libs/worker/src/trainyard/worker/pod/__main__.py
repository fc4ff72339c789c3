"""The container's own process: reads its part of the plan, starts it, and ends as the first failure did."""

from __future__ import annotations

import os
import select
import signal
import sys
from types import FrameType

from trainyard.worker.pod import ends, meeting
from trainyard.worker.pod.processes import Processes
from trainyard.worker.pod.replica import BadPlan, Replica, make_folders, read, unpack
from trainyard.worker.pod.telling import Reports, Voice

NO_PLAN = 78  # EX_CONFIG
NO_PEERS = 75  # EX_TEMPFAIL: another time they may be there
LOOK = 0.5  # seconds between two looks at reports; ends and signals come at once


class Ending:
    """Whether the kubelet, or somebody by hand, has asked for the end; and what wakes the runner when anything happens."""

    def __init__(self) -> None:
        self.by: int | None = None
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._note)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def asked(self) -> bool:
        return self.by is not None

    def pause(self, seconds: float) -> None:
        """Until a signal comes, at most so long."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 4096)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGCHLD and self.by is None:
            self.by = number


def main() -> int:
    voice, ending = Voice(), Ending()
    try:
        replica = read(os.environ)
        unpack(replica)
        for rank in replica.ranks:
            make_folders(rank, rank.environment(os.environ))
    except BadPlan as error:
        voice.say(str(error))
        return NO_PLAN
    if os.environ.get("TRAINYARD_HOSTS") == "wait":
        patience = float(os.environ.get("TRAINYARD_HOSTS_PATIENCE") or meeting.PATIENCE)
        missing = meeting.wait(replica.hosts, patience, voice.say, ending.asked)
        if ending.by is not None:
            return 128 + ending.by
        if missing:
            voice.say(
                f"{', '.join(missing[:3])} cannot be found by name after {patience:g} s: is DNS of the cluster well?"
            )
            return NO_PEERS
    return run(replica, voice, ending)


def run(replica: Replica, voice: Voice, ending: Ending) -> int:
    processes = Processes(replica.grace, voice)
    reports = []
    for rank in replica.ranks:
        env = rank.environment(os.environ)
        if env.get("TRAINYARD_REPORT"):
            reports.append(Reports(env["TRAINYARD_REPORT"], rank.rank))
        if processes.first is None:
            processes.start(rank, env, replica.mark(rank.rank))
    running = True
    while running:
        if ending.asked():
            processes.terminate()
        running = processes.look()
        for item in reports:
            line = item.newest()
            if line is not None:
                voice.line(line)
        if running:
            ending.pause(LOOK)
    processes.kill()  # what a process left in a session of its own
    trouble = ends.write(
        ends.message(processes.ended, processes.first), os.environ.get("TRAINYARD_TERMINATION_LOG") or ends.LOG
    )
    if trouble:
        voice.say(trouble)
    return processes.first.exit_code if processes.first is not None else 0


if __name__ == "__main__":
    sys.exit(main())
