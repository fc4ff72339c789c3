"""Every error of Trainyard, in one tree.

    TrainyardError
    ├── UserError            the caller can mend it; carries a sentence for a person
    │   ├── InvalidInput     a document or parameter is wrong; carries one Problem a fault
    │   ├── NotFound         no such job, rank, conversion …
    │   ├── Conflict         the thing is not in a state that allows this (lifecycle.IllegalTransition is one)
    │   └── Unauthorized     credentials are missing or wrong
    ├── StaleSequence        somebody else moved the job first: read again, decide again
    ├── Retryable            passing trouble; carries the delay after which to try again
    │   └── Unavailable      a peer (nats-server, data plane) does not answer
    └── Permanent            no retry helps; the message goes to the dead letters

Handlers answer the bus by raising: `Retryable` becomes a nak with its delay, `Permanent` and `UserError` become a term
with a dead letter, and anything else is retried with back-off until the consumer's limit, then dead-lettered.
"""

from __future__ import annotations

from dataclasses import dataclass


class TrainyardError(Exception):
    """The root. `str(error)` is one sentence that can be shown to a person."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a document. `where` is a dotted path (`resources.cpu`); `hint` says what would work."""

    what: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}" + (f" ({self.hint})" if self.hint else "")


class UserError(TrainyardError):
    """The caller's mistake, in the caller's words. `status` is the HTTP status it maps to."""

    status = 400
    code = "bad-request"


class InvalidInput(UserError):
    status = 422
    code = "invalid-input"

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(problem) for problem in problems))

    @classmethod
    def one(cls, what: str, where: str = "", hint: str = "") -> InvalidInput:
        return cls([Problem(what, where, hint)])


class NotFound(UserError):
    status = 404
    code = "not-found"


class Conflict(UserError):
    status = 409
    code = "conflict"


class Unauthorized(UserError):
    status = 401
    code = "unauthorized"


class StaleSequence(TrainyardError):
    """An optimistic append lost: the job's last sequence is not the one that the writer had seen."""


class Retryable(TrainyardError):
    def __init__(self, message: str, delay: float = 1.0) -> None:
        self.delay = delay
        super().__init__(message)


class Unavailable(Retryable):
    """A peer does not answer. Nothing was lost on our side; try again."""


class Permanent(TrainyardError):
    """No retry can help."""
