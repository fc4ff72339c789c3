"""What opens a part, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainyard.data.errors import Refused
from trainyard.data.tickets import Ticket, seal, unseal

KEY = b"k" * 32
TICKET = Ticket("digits", "v1", 3, "me", 1000.0, ("pixels", "label"))


def test_a_ticket_comes_back_as_it_was() -> None:
    assert unseal(seal(TICKET, KEY), KEY, 999.9) == TICKET


def test_an_old_ticket_opens_nothing() -> None:
    with pytest.raises(Refused, match=r"expired 5 s ago: ask for a new one"):
        unseal(seal(TICKET, KEY), KEY, 1005)


def test_another_key_opens_nothing() -> None:
    with pytest.raises(Refused, match="not signed by this server"):
        unseal(seal(TICKET, KEY), b"o" * 32, 0)


@given(st.binary(max_size=400))
def test_what_is_no_ticket_is_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        unseal(data, KEY, 0)


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_ticket_that_was_changed_is_refused(place: int, change: int) -> None:
    sealed = bytearray(seal(TICKET, KEY))
    sealed[place % len(sealed)] ^= change
    with pytest.raises(Refused):
        unseal(bytes(sealed), KEY, 0)


def test_a_longer_life_cannot_be_written_into_it() -> None:
    forged = seal(TICKET, KEY)[:32] + seal(replace(TICKET, expires=1e12), b"o" * 32)[32:]
    with pytest.raises(Refused):
        unseal(forged, KEY, 0)
