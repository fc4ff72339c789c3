"""Ports for the ranks of an attempt."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from trainyard.common.errors import TrainyardError
from trainyard.common.loopback import PORTS, is_free
from trainyard.launcher.adapters.local.ports import Ports


def test_an_attempt_keeps_its_ports_and_nobody_shares_them(tmp_path: Path) -> None:
    ports = Ports()
    first = ports.of(tmp_path / "a", 40)
    second = ports.of(tmp_path / "b", 40)
    assert len({*first, *second}) == 80
    assert all(port in PORTS for port in first)
    assert ports.of(tmp_path / "a", 40) == first
    assert Ports().of(tmp_path / "a", 40) == first, "a launcher after us reads what we chose"
    assert not list(tmp_path.glob(".*")), "nothing is left behind"


def test_what_is_in_use_is_never_given(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        assert not is_free(held.getsockname()[1])
    only = PORTS[5]
    assert Ports(lambda port: port == only).of(tmp_path / "a", 1) == [only]


def test_ports_of_an_ended_job_are_given_again(tmp_path: Path) -> None:
    few = set(PORTS[:3])
    ports = Ports(few.__contains__)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainyard.launcher.adapters.local.ports.PORTS", PORTS[:10])
        assert set(ports.of(tmp_path / "a" / "ports", 3)) == few
        with pytest.raises(TrainyardError, match="3 free ports"):
            ports.of(tmp_path / "b" / "ports", 3)
        ports.forget(tmp_path / "a")
        assert set(ports.of(tmp_path / "b" / "ports", 3)) == few
