"""Every way in which the data plane fails, and how it crosses Flight.

    DataError
    ├── InvalidData      what was sent is wrong: schema, name, offset, checksum
    ├── NotFound         no such dataset, version, upload or part
    ├── Conflict         somebody else commits under this name, or the thing is pinned
    ├── Refused          no token, a wrong one, a ticket that was forged
    │   └── Expired      a ticket that was good once: a client asks for another by itself
    ├── Full             the quota or the disk is used up
    └── Unavailable      the server does not answer, or went away in the middle: try again

Each has a `code` that travels as JSON in Flight's `extra_info`, so a client raises what the server raised and reads no text.
`str(error)` is one sentence for a person.
"""

from __future__ import annotations

import errno
import json

import pyarrow as pa
import pyarrow.flight as fl


class DataError(Exception):
    code = "fault"


class InvalidData(DataError):
    code = "invalid"


class NotFound(DataError):
    code = "not-found"


class Conflict(DataError):
    code = "conflict"


class Refused(DataError):
    code = "refused"


class Expired(Refused):
    code = "expired"


class Full(DataError):
    code = "full"


class Unavailable(DataError):
    code = "unavailable"


KINDS: dict[str, type[DataError]] = {
    kind.code: kind for kind in (InvalidData, NotFound, Conflict, Refused, Expired, Full, Unavailable, DataError)
}


_OF_PYARROW: tuple[tuple[tuple[type[Exception], ...], type[DataError], str], ...] = (
    (
        (fl.FlightUnavailableError, fl.FlightTimedOutError, fl.FlightCancelledError),
        Unavailable,
        "the data server does not answer: ",
    ),
    ((fl.FlightUnauthenticatedError, fl.FlightUnauthorizedError), Refused, ""),
    # gRPC calls a connection that breaks in the middle of a stream internal or unknown.
    ((fl.FlightInternalError, fl.FlightServerError), Unavailable, "the stream broke: "),
    ((pa.ArrowInvalid, pa.ArrowTypeError), InvalidData, ""),
)


def to_flight(error: Exception) -> fl.FlightError:
    """What a server raises for `error`; an error that nobody planned tells its type and no more."""
    known = error if isinstance(error, DataError) else _planned(error)
    if known is None:
        known = DataError(f"the data server failed: {type(error).__name__}")
    kind = fl.FlightUnauthenticatedError if isinstance(known, Refused) else fl.FlightServerError
    return kind(str(known), json.dumps({"code": known.code, "message": str(known)}).encode())


def from_flight(error: pa.ArrowException) -> DataError:
    """What a client raises for an error of pyarrow."""
    try:
        told = json.loads(getattr(error, "extra_info", b"") or b"{}")
    except ValueError:
        told = {}
    if told.get("code") in KINDS:
        return KINDS[told["code"]](told["message"])
    for kinds, meant, words in _OF_PYARROW:
        if isinstance(error, kinds):
            return meant(words + _first_line(error))
    return DataError(_first_line(error))


def _planned(error: Exception) -> DataError | None:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Full("the data server's disk is full: delete datasets (yard data rm) or give it a larger one")
    if isinstance(error, pa.ArrowInvalid | pa.ArrowTypeError | pa.ArrowNotImplementedError):
        return InvalidData(_first_line(error))
    return None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].split(". gRPC client debug context")[0]
