"""Tickets at a server: renewed when they have expired, good for nobody else, and of no use when they are forged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from trainyard.data.client import Client
from trainyard.data.errors import Expired, Refused, from_flight
from trainyard.data.testing import KEY, Served, table
from trainyard.data.tickets import seal, unseal


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def far(client: Client, serve: Served, clock: list[float]) -> Iterator[Client]:
    client.put("digits", table())
    server = serve(now=lambda: clock[0], ticket_life=10.0)
    with Client(f"grpc://127.0.0.1:{server.port}", "mine", same_host=False, patience=0) as made:
        yield made


def test_an_old_ticket_opens_nothing(far: Client, clock: list[float]) -> None:
    ticket = fl.Ticket(far.find("digits").parts[0].ticket)
    far._flight.do_get(ticket, far._options).read_all()
    clock[0] = 11.0
    with pytest.raises(pa.ArrowException) as caught:
        far._flight.do_get(ticket, far._options).read_all()
    fault = from_flight(caught.value)
    assert isinstance(fault, Expired)
    assert str(fault).startswith("this ticket for digits expired 1 s ago: ask for a new one")


def test_a_client_asks_for_another_by_itself(far: Client, clock: list[float]) -> None:
    found = far.find("digits", columns=("label",))
    clock[0] = 3600.0
    assert far.part(found, 0).equals(table().select(["label"]))


def test_a_newer_version_is_not_taken_for_the_old_one(far: Client, clock: list[float]) -> None:
    found = far.find("digits")
    far.put("digits", table(5, seed=1))
    clock[0] = 3600.0
    assert far.part(found, 0).equals(table())


def test_a_server_whose_tickets_are_never_good_is_asked_once_more_only(far: Client, clock: list[float]) -> None:
    found = far.find("digits")
    clock[0] = 3600.0
    worn = replace(far.find("digits").parts[0], ticket=found.parts[0].ticket)
    far.find = lambda *_: replace(found, parts=(worn,))  # type: ignore[method-assign]
    with pytest.raises(Expired):
        far.part(found, 0)


def test_a_forged_ticket_opens_nothing(far: Client) -> None:
    found = far.find("digits")
    ticket = unseal(found.parts[0].ticket, KEY, 0.0)
    forged = replace(found.parts[0], ticket=seal(replace(ticket, expires=1e12), b"o" * 32))
    with pytest.raises(Refused, match="not signed by this server"):
        far.part(replace(found, parts=(forged,)), 0)


def test_a_ticket_is_for_who_asked_for_it(client: Client, serve: Served) -> None:
    client.put("digits", table())
    found = client.find("digits")
    their = Client(f"grpc://127.0.0.1:{serve().port}", "theirs", same_host=False, patience=0)
    with pytest.raises(Refused, match="this ticket was given to somebody else: ask for one of your own"):
        their.part(found, 0)
    assert their.get("digits").equals(table())
