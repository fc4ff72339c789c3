"""Exchange among ranks whose framework has none: everybody's bytes to everybody, over TCP, standard library only.

Rank 0 listens on the attempt's own port; each exchange is one connection from every other rank, which sends its part and
gets all parts. The job's id is the key of the connections (HMAC), so a stranger's bytes are never read. Bytes only: what
they mean is the caller's business, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge

from trainyard.worker.meeting import wait_for_port

_HEADER = struct.Struct("<II")  # rank, number of the exchange
_SILENCE = struct.pack("ll", 10, 0)  # a timeval: seconds that a peer may say nothing


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
        return self._collect(part) if self.rank == 0 else self._send(part)

    def barrier(self) -> None:
        """Until everybody is here."""
        self.gather(b"")

    def _collect(self, part: bytes) -> list[bytes]:
        if self._server is None:
            host, port = self._master
            wait_for_port(port, self._timeout, f"{host}:{port}")
            self._server = socket.create_server(self._master, backlog=self.size)
        deadline = time.monotonic() + self._timeout
        parts: dict[int, bytes] = {0: part}
        waiting: list[Connection] = []
        while len(parts) < self.size:
            self._server.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                peer, _ = self._server.accept()
            except TimeoutError:
                missing = sorted(set(range(self.size)) - parts.keys())
                raise TimeoutError(f"ranks {missing} did not come within {self._timeout:g} s") from None
            connection = _connection(peer)
            try:
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
                rank, number = _HEADER.unpack(connection.recv_bytes(_HEADER.size))
                theirs = connection.recv_bytes()
            except (AuthenticationError, EOFError, OSError, struct.error):
                connection.close()  # a stranger, or a rank that has just died, for which the launcher ends us all
                continue
            if number != self._round:
                raise RuntimeError(f"rank {rank} is at exchange {number}, rank 0 at {self._round}")
            parts[rank] = theirs
            waiting.append(connection)
        ordered = [parts[rank] for rank in range(self.size)]
        for connection in waiting:
            for item in ordered:
                connection.send_bytes(item)
            connection.close()
        return ordered

    def _send(self, part: bytes) -> list[bytes]:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                with Client(self._master, authkey=self._key) as connection:
                    connection.send_bytes(_HEADER.pack(self.rank, self._round))
                    connection.send_bytes(part)
                    return [connection.recv_bytes() for _ in range(self.size)]
            except (ConnectionError, EOFError) as error:  # rank 0 is not there yet
                if time.monotonic() > deadline:
                    raise TimeoutError(f"rank 0 did not answer within {self._timeout:g} s") from error
                time.sleep(0.1)


def _connection(peer: socket.socket) -> Connection:
    peer.setblocking(True)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _SILENCE)
    return Connection(peer.detach())
