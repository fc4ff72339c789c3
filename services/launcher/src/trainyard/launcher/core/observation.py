"""What a backend sees of a rank."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trainyard.common.contract.events import Ending
from trainyard.common.lifecycle.states import EndReason


class Phase(StrEnum):
    ABSENT = "absent"  # was never started
    STARTING = "starting"  # its supervisor lives, the process is not there yet
    RUNNING = "running"
    ENDED = "ended"
    VANISHED = "vanished"  # it ran, nobody watches it any more, and nobody recorded its end


@dataclass(frozen=True, slots=True)
class Pending:
    """Why a rank does not run yet."""

    reason: EndReason | None
    """What it would end for if it stayed so; None: it is only a matter of time."""
    message: str
    since: float
    """Unix seconds."""
    permanent: bool = False
    """Waiting does not help: somebody has to change something first."""


@dataclass(frozen=True, slots=True)
class RankSeen:
    rank: int
    phase: Phase
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    reason: EndReason | None = None
    """Set where the backend knows more than code and signal (could not start, out of memory, node lost)."""
    message: str = ""
    ended_at: float = 0.0
    """Unix seconds."""
    stopped: bool = False
    """We had asked it to end; how it ended says nothing about the job."""
    stopped_for: str = ""
    """What we had asked it for."""
    taken: bool = False
    """Somebody else ended it, which may be what another rank's failure brought about: that rank is to blame first."""
    of_node: bool = False
    """Its node is to blame: it was lost, or could not hold what was placed there."""
    max_rss: int | None = None
    cpu_seconds: float | None = None
    node: str = ""
    """Where it is, where the backend has more than one; empty: the backend's own."""
    pending: Pending | None = None
    """While it starts."""

    @property
    def over(self) -> bool:
        """It does not run and never will."""
        return self.phase in {Phase.ENDED, Phase.VANISHED} or (self.phase is Phase.ABSENT and self.stopped)

    @property
    def succeeded(self) -> bool:
        return self.phase is Phase.ENDED and self.exit_code == 0 and self.reason is None and not self.stopped

    @property
    def failed(self) -> bool:
        """It ended badly by itself."""
        return self.over and not self.succeeded and not self.stopped

    def ending(self) -> Ending:
        return Ending(
            rank=self.rank,
            exit_code=self.exit_code,
            signal=self.signal,
            reason=self.why(),
            message=self.message,
            max_rss=self.max_rss,
            cpu_seconds=self.cpu_seconds,
            node=self.node,
        )

    def why(self) -> EndReason:
        """The typed reason. Source of the order: a backend's knowledge, then the signal, then the code."""
        if self.phase is Phase.VANISHED:
            return EndReason.LOST
        if self.reason is not None:
            return self.reason
        if self.stopped:
            return EndReason.CANCELLED
        if self.signal is not None:
            return EndReason.SIGNAL
        return EndReason.COMPLETED if self.exit_code == 0 else EndReason.ERROR
