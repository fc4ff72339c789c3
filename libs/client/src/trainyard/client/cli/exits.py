"""Exit codes that scripts can rely on, and the one place where an error becomes one.

0  done                       5  nothing answers (is the yard up?)
1  the job or conversion      6  not in a state that allows this
   ended without success      7  not allowed (token)
2  wrong use of the command   124  time-out of `wait`
3  no such thing              130  Ctrl-C
4  the input is wrong
"""

from __future__ import annotations

from trainyard.client.cli import output
from trainyard.common.contract.views import JobView
from trainyard.common.errors import Conflict, InvalidInput, NotFound, TrainyardError, Unauthorized, Unavailable
from trainyard.common.lifecycle.states import State

OK, NOT_SUCCESSFUL, USAGE, NOT_FOUND, INVALID, UNAVAILABLE, CONFLICT, UNAUTHORIZED = range(8)
TIMED_OUT, INTERRUPTED = 124, 130

_BY_ERROR: tuple[tuple[type[BaseException], int], ...] = (
    (InvalidInput, INVALID),
    (NotFound, NOT_FOUND),
    (Conflict, CONFLICT),
    (Unauthorized, UNAUTHORIZED),
    (Unavailable, UNAVAILABLE),
    (TimeoutError, TIMED_OUT),
    (KeyboardInterrupt, INTERRUPTED),
    (TrainyardError, NOT_SUCCESSFUL),
)


def of_job(job: JobView) -> int:
    """0 for a job that succeeded, and whose conversion did not fail and was not left out."""
    failed = output.unconverted(job) or any(conversion.state == "failed" for conversion in job.conversions)
    return OK if job.state is State.SUCCEEDED and not failed else NOT_SUCCESSFUL


def code_of(error: BaseException) -> int:
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), NOT_SUCCESSFUL)
