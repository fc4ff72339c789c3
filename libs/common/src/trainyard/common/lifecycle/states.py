"""The states that a job can be in and the typed reasons for which it can end."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    SUBMITTED = "submitted"  # durable in the log; the matrix has not answered yet
    RESOLVED = "resolved"  # image and hardware are known
    QUEUED = "queued"  # waits for free resources
    STARTING = "starting"  # the backend is making processes or pods
    RUNNING = "running"  # every rank has been started
    RESTARTING = "restarting"  # an attempt ended, the next one is due
    SUSPENDING = "suspending"  # a wish to suspend is durable, the processes are being ended
    SUSPENDED = "suspended"  # stopped on request, may come back
    CANCELLING = "cancelling"  # a cancel is durable, the processes are being ended
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"  # nothing in the matrix fits
    LOST = "lost"  # the processes are gone and nobody recorded how they ended

    @property
    def terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.REJECTED, State.LOST})
ACTIVE = frozenset(State) - TERMINAL


class EndReason(StrEnum):
    """Why an attempt or a job ended, as a word that scripts can match."""

    COMPLETED = "completed"
    ERROR = "error"  # user code exited with a code other than 0
    SIGNAL = "signal"  # a rank was killed by a signal that we did not send
    OOM = "oom"
    DEADLINE = "deadline"  # active time-out
    PENDING_DEADLINE = "pending-deadline"
    IDLE = "idle"  # no progress for the idle time-out
    IMAGE = "image"  # the image could not be built
    IMAGE_PULL = "image-pull"  # a node could not get the image
    INIT_FAILED = "init-failed"  # what had to run before the job's own process failed
    QUOTA = "quota"  # the namespace may not have that much
    REFUSED = "refused"  # the cluster's rules do not let its pods in, as they are
    START = "start"  # the command could not be executed
    UNSCHEDULABLE = "unschedulable"  # asks for more than exists
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_LOST = "node-lost"
    NODE_FAULT = "node-fault"  # its node could not give it what it was placed there for: a device, a network
    RESIZED = "resized"  # it is to have another number of replicas
    CANCELLED = "cancelled"
    LOST = "lost"


class Budget(StrEnum):
    """Which retry budget a failed attempt is paid from, so that a lost node never eats the user's retries."""

    USER = "user"
    INFRASTRUCTURE = "infrastructure"
    PREEMPTION = "preemption"
    NONE = "none"  # never retried


BUDGET_OF: dict[EndReason, Budget] = {
    EndReason.COMPLETED: Budget.NONE,
    EndReason.ERROR: Budget.USER,
    EndReason.SIGNAL: Budget.USER,
    EndReason.OOM: Budget.NONE,  # the same size would run out of memory again
    EndReason.DEADLINE: Budget.NONE,
    EndReason.PENDING_DEADLINE: Budget.NONE,
    EndReason.IDLE: Budget.USER,
    EndReason.IMAGE: Budget.INFRASTRUCTURE,
    EndReason.IMAGE_PULL: Budget.NONE,  # the deadline for it has passed already
    EndReason.INIT_FAILED: Budget.USER,
    EndReason.QUOTA: Budget.NONE,  # waited for until the deadline for it
    EndReason.REFUSED: Budget.NONE,
    EndReason.START: Budget.NONE,
    EndReason.UNSCHEDULABLE: Budget.NONE,
    EndReason.EVICTED: Budget.INFRASTRUCTURE,
    EndReason.PREEMPTED: Budget.PREEMPTION,
    EndReason.NODE_LOST: Budget.INFRASTRUCTURE,
    EndReason.NODE_FAULT: Budget.INFRASTRUCTURE,
    EndReason.RESIZED: Budget.NONE,  # asked for: the next attempt costs nothing
    EndReason.CANCELLED: Budget.NONE,
    EndReason.LOST: Budget.INFRASTRUCTURE,
}
