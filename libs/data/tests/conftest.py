"""A data server in this process, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trainyard.data.client import Client
from trainyard.data.server import DataServer, Serving
from trainyard.data.store import Store
from trainyard.data.testing import KEY, Served, who


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def serve(store: Store) -> Iterator[Served]:
    """A server over `store`, with other settings as given."""
    running: list[DataServer] = []

    def start(**other: Any) -> DataServer:
        running.append(DataServer(replace(Serving(store, KEY, who), **other)))
        return running[-1]

    yield start
    for server in running:
        server.shutdown()


@pytest.fixture
def client(serve: Served) -> Iterator[Client]:
    with Client(f"grpc://127.0.0.1:{serve().port}", "mine", patience=0) as made:
        yield made


@pytest.fixture
def remote(client: Client, serve: Served) -> Iterator[Client]:
    """A client that takes the stream, as from another machine."""
    with Client(f"grpc://127.0.0.1:{serve().port}", "mine", same_host=False, patience=0) as made:
        yield made
