"""Looking at a port before a framework listens on it."""

from __future__ import annotations

import socket

import pytest

from trainyard.worker.meeting import wait_for_port


def test_a_port_on_which_somebody_listens_is_told() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(RuntimeError, match="here is taken by another process"),
    ):
        wait_for_port(other.getsockname()[1], 0.0, "here")


def test_looking_lets_no_peer_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer may try to connect at any moment; one that is let in and thrown out may take it for the end of rank 0."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        port = made.getsockname()[1]

    def listen(*_: object) -> None:
        raise AssertionError("the port was opened for everybody")

    monkeypatch.setattr(socket.socket, "listen", listen)
    wait_for_port(port, 0.0, "here")
