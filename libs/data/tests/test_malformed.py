"""Streams that no client of ours would send: the server says so, stays, and keeps nothing of them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainyard.data.client import Client
from trainyard.data.errors import InvalidData
from trainyard.data.testing import flight_wire
from trainyard.data.testing.process import Process

WORDS = pa.table({"text": ["one", "two", None], "more": [[1], [2, 3], []]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("malformed") / "store").start()
    yield process
    process.kill()


@pytest.fixture(scope="module")
def client(server: Process) -> Iterator[Client]:
    with server.client(patience=0) as made:
        yield made


def messages(upload: str) -> list[bytes]:
    """Those of a whole and right stream."""
    return flight_wire.messages(WORDS, json.dumps({"upload": upload, "offset": 0}).encode())


def put(port: int, sent: list[bytes]) -> str:
    return flight_wire.call(port, flight_wire.DO_PUT, sent)


def begin(client: Client, upload: str) -> None:
    schema = b64encode(WORDS.schema.serialize().to_pybytes()).decode()
    client.act("begin", upload=upload, dataset="words", schema=schema)


def test_the_stream_that_the_others_are_made_of_is_right(server: Process, client: Client) -> None:
    begin(client, "right")
    assert put(server.port, messages("right")) == ""
    client.act("commit", upload="right", dataset="words", rows=3)
    assert client.get("words").equals(WORDS)


CHANGE = st.tuples(
    st.integers(0, 1),
    st.sampled_from(["flip", "cut", "insert", "drop", "twice"]),
    st.floats(0, 1),
    st.binary(min_size=1, max_size=8),
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=4)


@given(changes=CHANGES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_stream_ends_the_server_or_is_taken_in_part(
    server: Process, client: Client, changes: list[tuple[int, str, float, bytes]]
) -> None:
    begin(client, "fuzzed")
    sent = messages("fuzzed")
    for which, how, where, content in changes:
        if which >= len(sent):
            continue
        message = sent[which]
        at = int(where * max(len(message) - 1, 0))
        match how:
            case "flip":
                sent[which] = message[:at] + content + message[at + len(content) :]
            case "cut":
                sent[which] = message[:at]
            case "insert":
                sent[which] = message[:at] + content + message[at:]
            case "drop":
                del sent[which]
            case "twice":
                sent.append(message)
    told = put(server.port, sent)
    assert server.alive, told
    rows = client.act("begin", upload="fuzzed", dataset="words", schema=_schema())["rows"]
    assert rows % 3 == 0  # whole batches or none
    client.act("give-up", upload="fuzzed")


def _schema() -> str:
    return b64encode(WORDS.schema.serialize().to_pybytes()).decode()


def text(offsets: list[int], content: bytes) -> pa.Array:
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.utf8(), len(offsets) - 1, buffers)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("offsets that go back", text([0, 9, 3], b"abc")),
        ("no UTF-8", text([0, 2], b"\xff\xfe")),
        (
            "an index outside of its dictionary",
            pa.DictionaryArray.from_arrays(pa.array([5], pa.int8()), pa.array(["a"]), safe=False),
        ),
    ],
)
def test_arrays_that_contradict_themselves_are_refused(server: Process, name: str, array: pa.Array) -> None:
    with server.client(patience=0) as client:
        with pytest.raises(InvalidData, match=r"a batch of . rows? is no Arrow data: "):
            client.put("bad", pa.table({"x": array}))
        assert "bad" not in [each["dataset"] for each in client.list()], name


@pytest.mark.parametrize("damage", ["cut", "zeros", "empty"])
def test_a_part_that_was_damaged_on_the_disk_is_told(server: Process, client: Client, damage: str) -> None:
    sent = pa.table({"x": np.arange(1000)})
    version = client.put("damaged", sent)["version"]
    (part,) = Path(server.root, "datasets", "damaged", "@", version).glob("part-*")
    content = part.read_bytes()
    part.write_bytes({"cut": content[: len(content) // 2], "zeros": bytes(len(content)), "empty": b""}[damage])
    with pytest.raises(InvalidData, match="part 0 of damaged, version"):
        client.get("damaged")
    with (
        server.client(same_host=True, patience=0) as near,
        pytest.raises(InvalidData, match="part 0 of damaged, version"),
    ):
        near.get("damaged")
