"""Ranks that exchange bytes: real sockets, a thread a rank."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from trainyard.common.loopback import free_port
from trainyard.worker.gang import Gang

pytestmark = [pytest.mark.integration]


def together(size: int, work: Callable[[Gang], Any], timeout: float = 20.0) -> list[Any]:
    master = ("127.0.0.1", free_port())
    results: list[Any] = [None] * size

    def rank(number: int) -> None:
        try:
            with Gang(number, size, master, timeout) as gang:
                results[number] = work(gang)
        except Exception as error:  # noqa: BLE001 - it is the result
            results[number] = error

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(size)]
    for thread in reversed(threads):  # rank 0 comes last: the others wait for it
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_everybody_gets_everybodys_part_in_order() -> None:
    def work(gang: Gang) -> list[list[bytes]]:
        return [gang.gather(f"{number}:{gang.rank}".encode() * (1 + 50_000 * gang.rank)) for number in range(3)]

    results = together(4, work)
    assert results[0] == results[1] == results[2] == results[3]
    assert [part[:3] for part in results[0][2]] == [b"2:0", b"2:1", b"2:2", b"2:3"]
    assert len(results[0][0][3]) == 3 * 150_001


def test_one_rank_needs_nobody() -> None:
    assert Gang(0, 1, None, 1).gather(b"x") == [b"x"]
    with pytest.raises(ValueError, match="a place to meet"):
        Gang(0, 2, None, 1)


def test_who_does_not_come_is_named() -> None:
    here = ("127.0.0.1", free_port())
    with Gang(0, 3, here, 0.2) as gang, pytest.raises(TimeoutError, match=r"ranks \[1, 2\] did not come within 0.2 s"):
        gang.barrier()
    with Gang(1, 3, here, 0.2) as gang, pytest.raises(TimeoutError, match="rank 0 did not answer"):
        gang.barrier()


def test_strangers_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port scanner, and a rank of another job."""
    port = free_port()
    mine = Gang(0, 2, ("127.0.0.1", port), 20)
    found: list[bytes] = []
    server = threading.Thread(target=lambda: found.extend(mine.gather(b"a")))
    server.start()
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as scanner:
                scanner.sendall(b"GET / HTTP/1.1\r\n\r\n")
            break
        except ConnectionRefusedError:
            continue
    monkeypatch.setenv("TRAINYARD_JOB_ID", "another")
    with pytest.raises(TimeoutError):
        Gang(1, 2, ("127.0.0.1", port), 0.5).gather(b"evil")
    monkeypatch.delenv("TRAINYARD_JOB_ID")
    assert Gang(1, 2, ("127.0.0.1", port), 20).gather(b"b") == [b"a", b"b"]
    server.join()
    mine.close()
    assert found == [b"a", b"b"]
