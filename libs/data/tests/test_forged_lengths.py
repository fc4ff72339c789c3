"""Batches that say they have more rows than bytes, sent or on the disk: nobody reads beyond the end."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from trainyard.data.client import Client
from trainyard.data.errors import InvalidData
from trainyard.data.exchange import offered
from trainyard.data.testing import flight_wire
from trainyard.data.testing.process import Process

ROWS = 77
TABLES = {
    "text": pa.table({"x": [None, *["abc"] * (ROWS - 1)]}),
    "lists": pa.table({"x": [None, *[[1, 2]] * (ROWS - 1)]}),
    "numbers": pa.table({"x": list(range(ROWS))}),
    "truths": pa.table({"x": [True, None] * (ROWS // 2) + [True]}),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path / "store").start()
    yield process
    process.kill()


def forged(content: bytes) -> bytes:
    """Its first two counts of rows, of the batch and of its column, become a thousand million."""
    return content.replace(ROWS.to_bytes(8, "little"), (10**9).to_bytes(8, "little"), 2)


@pytest.mark.parametrize("kind", TABLES)
def test_the_server_refuses_such_a_stream_and_stays(server: Process, kind: str) -> None:
    table = TABLES[kind]
    with server.client(patience=0) as client:
        schema = b64encode(table.schema.serialize().to_pybytes()).decode()
        client.act("begin", upload="forged", dataset="x", schema=schema)
        opening, rows = flight_wire.messages(table, json.dumps({"upload": "forged", "offset": 0}).encode())
        told = flight_wire.call(server.port, flight_wire.DO_PUT, [opening, forged(rows)])
        assert "Arrow" in told or "IPC" in told or "rows" in told
        assert server.alive
        assert client.act("begin", upload="forged", dataset="x", schema=schema)["rows"] == 0


@pytest.mark.parametrize("kind", TABLES)
def test_a_function_server_refuses_such_a_stream_and_stays(kind: str) -> None:
    with offered({"same": lambda batch: batch}) as serving:
        command = json.dumps({"function": "same"}).encode()
        opening, rows = flight_wire.messages(TABLES[kind], command)
        assert flight_wire.call(serving.port, flight_wire.DO_EXCHANGE, [opening, forged(rows)])


@pytest.mark.parametrize("same_host", [True, False])
@pytest.mark.parametrize("kind", TABLES)
def test_such_a_part_on_the_disk_is_told(server: Process, kind: str, same_host: bool) -> None:
    with server.client(same_host=same_host, patience=0) as client:
        version = client.put("x", TABLES[kind])["version"]
        (part,) = Path(server.root, "datasets", "x", "@", version).glob("part-*")
        part.write_bytes(forged(part.read_bytes()))
        with pytest.raises(InvalidData, match="part 0 of x, version"):
            client.get("x")
        assert server.alive


def test_columns_come_in_the_order_in_which_they_are_asked_for(client: Client, remote: Client) -> None:
    table = pa.table({"a": [1], "b": [2], "c": [3]})
    client.put("x", table)
    for each in (client, remote):
        assert each.get("x", columns=("c", "a")).equals(table.select(["c", "a"]))
        with pytest.raises(InvalidData, match="column a is asked for twice"):
            each.get("x", columns=("a", "a"))
