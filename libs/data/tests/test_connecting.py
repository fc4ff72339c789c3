"""What is said instead of an address or a token, and is none."""

from __future__ import annotations

import pytest

from trainyard.data.client import Client
from trainyard.data.errors import InvalidData, Refused
from trainyard.data.exchanging import Exchange

NOT_ADDRESSES = (
    "",
    "here",
    "127.0.0.1:8815",
    "http://127.0.0.1:8815",
    "grpc://127.0.0.1:99999",
    "grpc://h:port",
    "://",
)


@pytest.mark.parametrize("url", NOT_ADDRESSES)
def test_what_is_no_address_is_said_at_once(url: str) -> None:
    with pytest.raises(InvalidData, match=r"is no address of a server: grpc://HOST:PORT is one"):
        Client(url)
    with pytest.raises(InvalidData, match="is no address"):
        Exchange(url)


@pytest.mark.parametrize("token", ["two\nlines", "accentué"])
def test_a_token_that_no_header_can_carry_is_said_at_once(token: str) -> None:
    with pytest.raises(Refused, match="the token holds characters that no token has"):
        Client("grpc://127.0.0.1:9", token)
