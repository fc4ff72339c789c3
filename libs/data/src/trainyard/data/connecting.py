"""How every client of ours reaches a Flight server: its address, and the token that goes with each call."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as fl

from trainyard.data.errors import InvalidData, Refused

Connection = tuple[fl.FlightClient, fl.FlightCallOptions]


def connect(url: str, token: str | None, roots: bytes | None) -> Connection:
    """Nothing is sent yet. Raises InvalidData for what is no address, Refused for what can be no token."""
    if token and not (token.isascii() and token.isprintable()):  # gRPC would say that nobody answers
        raise Refused("the token holds characters that no token has: copy it again, without a line's end")
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    try:
        return fl.FlightClient(url, tls_root_certs=roots), fl.FlightCallOptions(headers=headers)
    except (pa.ArrowException, TypeError) as error:
        raise InvalidData(f"{url!r} is no address of a server: grpc://HOST:PORT is one, or grpc+tls://") from error
