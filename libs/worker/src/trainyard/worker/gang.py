"""Exchange among ranks whose framework has none: everybody's bytes to everybody, over TCP, standard library only.

Rank 0 listens on the attempt's own port; each exchange is one connection from every other rank, which sends its part and
gets all parts. A part is signed (HMAC) with the job's id, so a stranger's bytes are never taken. Bytes only: what they mean
is the caller's business, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
import time
from typing import Self

from trainyard.worker.meeting import wait_for_port

_HEADER = struct.Struct("<IIQ32s")  # rank, number of the exchange, bytes that follow, signature of these three
_SIGNED = struct.Struct("<IIQ")
_SILENCE = 10.0  # seconds that a peer may say nothing


class Gang:
    """All ranks of a job. Every rank must call the same methods in the same order."""

    def __init__(self, rank: int, size: int, master: tuple[str, int] | None, timeout: float) -> None:
        if size > 1 and master is None:
            raise ValueError("several ranks need a place to meet")
        self.rank, self.size = rank, size
        self._master, self._timeout = master or ("", 0), timeout
        self._key = hashlib.sha256(os.environ.get("TRAINYARD_JOB_ID", "").encode()).digest()
        self._round = 0
        self._server: socket.socket | None = None

    def gather(self, part: bytes) -> list[bytes]:
        """Everybody's part, by rank. Raises TimeoutError naming who did not come."""
        self._round += 1
        if self.size == 1:
            return [part]
        return self._collect(part) if self.rank == 0 else self._give(part)

    def barrier(self) -> None:
        """Until everybody is here."""
        self.gather(b"")

    def close(self) -> None:
        """Leave. Nobody is waited for: use `barrier` first where that matters."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _collect(self, part: bytes) -> list[bytes]:
        if self._server is None:
            host, port = self._master
            wait_for_port(port, self._timeout, f"{host}:{port}")
            self._server = socket.create_server(self._master, backlog=self.size)
        deadline = time.monotonic() + self._timeout
        parts: dict[int, bytes] = {0: part}
        waiting: list[socket.socket] = []
        while len(parts) < self.size:
            self._server.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                peer, _ = self._server.accept()
            except TimeoutError:
                missing = sorted(set(range(self.size)) - parts.keys())
                raise TimeoutError(f"ranks {missing} did not come within {self._timeout:g} s") from None
            peer.settimeout(_SILENCE)
            try:
                rank, theirs = self._receive(peer)
            except (OSError, ValueError):
                peer.close()  # a stranger, or a rank that has just died, for which the launcher ends us all
                continue
            parts[rank] = theirs
            waiting.append(peer)
        ordered = [parts[rank] for rank in range(self.size)]
        for peer in waiting:
            with peer:
                peer.settimeout(self._timeout)
                for rank, item in enumerate(ordered):
                    self._send(peer, rank, item)
        return ordered

    def _give(self, part: bytes) -> list[bytes]:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                with socket.create_connection(self._master, _SILENCE) as peer:
                    peer.settimeout(max(0.01, deadline - time.monotonic()))  # rank 0 may be at work still
                    self._send(peer, self.rank, part)
                    return [self._receive(peer)[1] for _ in range(self.size)]
            except OSError as error:  # rank 0 is not there yet
                if time.monotonic() > deadline:
                    raise TimeoutError(f"rank 0 did not answer within {self._timeout:g} s") from error
                time.sleep(0.1)

    def _send(self, peer: socket.socket, rank: int, part: bytes) -> None:
        signed = _SIGNED.pack(rank, self._round, len(part))
        peer.sendall(_HEADER.pack(rank, self._round, len(part), self._sign(signed)))
        peer.sendall(part)

    def _receive(self, peer: socket.socket) -> tuple[int, bytes]:
        """Raises ValueError for what is not signed, RuntimeError for a rank that is elsewhere, OSError for the rest."""
        rank, number, size, signature = _HEADER.unpack(_exactly(peer, _HEADER.size))
        if not hmac.compare_digest(signature, self._sign(_SIGNED.pack(rank, number, size))):
            raise ValueError("not of this job")
        if number != self._round:
            raise RuntimeError(f"rank {rank} is at exchange {number}, rank {self.rank} at {self._round}")
        return rank, _exactly(peer, size)

    def _sign(self, data: bytes) -> bytes:
        return hmac.digest(self._key, data, "sha256")


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = peer.recv(min(size - len(data), 2**20))
        if not chunk:
            raise ConnectionError("the other side has gone")
        data += chunk
    return bytes(data)
