"""Tables there and back, over Flight and over the same memory."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest

from trainyard.data.client import Client
from trainyard.data.errors import Conflict, Full, InvalidData, NotFound, Refused
from trainyard.data.sending import pieces
from trainyard.data.server import DataServer
from trainyard.data.store import Store
from trainyard.data.testing import Served, table
from trainyard.tensors.bridges.arrow import pointer


@pytest.mark.parametrize("rows", [0, 1, 511, 10_000])
def test_a_table_comes_back_as_it_was(client: Client, remote: Client, rows: int) -> None:
    sent = table(rows)
    client.put("digits", sent)
    assert client.get("digits").equals(sent)
    assert remote.get("digits").equals(sent)
    assert pa.Table.from_batches(remote.batches("digits"), sent.schema).equals(sent)


def test_on_the_same_host_the_servers_own_pages_are_read(client: Client, remote: Client, store: Store) -> None:
    client.put("digits", table())
    part = store.part(store.get("digits"), 0)
    mapped, streamed = client.get("digits"), remote.get("digits")
    assert _lies_in(mapped, part)
    assert not _lies_in(streamed, part)


def test_columns_lie_where_every_framework_takes_them(client: Client) -> None:
    """At a multiple of 64 bytes, in every batch but where a last one is not full."""
    client.put("digits", table(600_000))
    columns = [chunk for column in client.get("digits").columns for chunk in column.chunks[:-1]]
    assert len(columns) > 2
    assert {pointer(chunk) % 64 for chunk in columns} == {0}


def _lies_in(read: pa.Table, file: Path) -> bool:
    """Whether the first column's numbers are pages of this file, by the kernel's own list."""
    address = read["label"].chunk(0).buffers()[1].address
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, *_, name = line.split(maxsplit=5)
        first, last = (int(end, 16) for end in span.split("-"))
        if name == str(file) and first <= address < last:
            return True
    return False


def test_some_columns_alone(client: Client, remote: Client) -> None:
    client.put("digits", table())
    for asked in (client, remote):
        assert asked.get("digits", columns=("label",)).schema.names == ["label"]
    with pytest.raises(InvalidData, match="digits has no column size: pixels, label"):
        client.get("digits", columns=("size",))


def test_what_is_put_again_is_another_version(client: Client) -> None:
    first = client.put("digits", table(seed=1))
    second = client.put("digits", table(seed=2))
    assert client.get("digits").equals(table(seed=2))
    assert client.get("digits", first["version"]).equals(table(seed=1))
    assert client.act("delete", dataset="digits", version=second["version"]) == {"versions": 1}
    assert client.get("digits").equals(table(seed=1))


def test_who_reads_goes_on_when_the_dataset_is_removed(client: Client) -> None:
    client.put("digits", table())
    mapped = client.get("digits")
    client.act("delete", dataset="digits")
    assert mapped.equals(table())
    with pytest.raises(NotFound, match="there is no dataset digits here"):
        client.get("digits")


def test_what_is_pinned_is_not_deleted(client: Client) -> None:
    client.put("digits", table())
    client.act("pin", dataset="digits")
    with pytest.raises(Conflict, match="is pinned: unpin it first"):
        client.act("delete", dataset="digits")
    client.act("unpin", dataset="digits")
    client.act("delete", dataset="digits")
    assert client.list() == []


def test_what_has_expired_is_collected(client: Client) -> None:
    kept = client.put("kept", table())
    client.act("expire", dataset=client.put("old", table())["dataset"], after=-1)
    assert len(client.act("collect")["removed"]) == 1
    assert [each["version"] for each in client.list()] == [kept["version"]]


@pytest.mark.parametrize(
    "name", ["", "../up", "a/../b", "/etc", "Upper", "a b", "a/b/c/d/e", ".hidden", "a" * 101, "a\n"]
)
def test_a_name_that_is_none_is_refused(client: Client, name: str) -> None:
    with pytest.raises(InvalidData):
        client.put(name, table(1))


def test_names_may_lie_in_one_another(client: Client) -> None:
    for name in ("a", "a/b", "a/b/c"):
        client.put(name, table(3))
    client.act("delete", dataset="a/b")
    assert [each["dataset"] for each in client.list("a")] == ["a", "a/b/c"]


# -- tokens and tickets


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_without_a_token_nothing_is_answered(client: Client, serve: Served, token: str | None) -> None:
    client.put("digits", table())
    stranger = Client(f"grpc://127.0.0.1:{serve().port}", token, patience=0)
    for ask in (stranger.list, lambda: stranger.get("digits"), lambda: stranger.put("x", table(1))):
        with pytest.raises(Refused, match="the token is not known here"):
            ask()


def test_an_upload_of_others_is_not_touched(client: Client, serve: Served) -> None:
    their = Client(f"grpc://127.0.0.1:{serve().port}", "theirs", patience=0)
    _begin(client, "u1")
    for said in ({"upload": "u1"}, {"upload": "u1", "rows": 0, "dataset": "digits"}):
        with pytest.raises(NotFound, match="there is no upload u1 of yours here"):
            their.act("commit" if "rows" in said else "give-up", **said)
    with pytest.raises(Conflict):
        their.put("digits", table(), upload="u1")


# -- what is sent wrong


def test_another_schema_is_refused(client: Client, serve: Served) -> None:
    _begin(client, "u1")
    with pytest.raises(Conflict, match="upload u1 brings digits with another schema"):
        client.put("digits", pa.table({"x": [1]}), upload="u1")
    told = _put(serve(), {"upload": "u1", "offset": 0}, pa.table({"x": [1]}), b"")
    assert "the upload has pixels: " in told
    assert "this stream x: int64" in told


def test_what_was_damaged_on_the_way_is_refused(client: Client, serve: Served, store: Store) -> None:
    _begin(client, "u1")
    assert "arrived damaged" in _put(serve(), {"upload": "u1", "offset": 0}, table(5), b"0" * 16)
    assert store.upload("u1").rows == 0
    assert [file.name for file in store.folder("u1").iterdir()] == ["manifest.json"]


def test_a_wrong_place_to_go_on_from_is_refused(client: Client, serve: Served) -> None:
    _begin(client, "u1")
    assert "the upload has 0 rows: go on from there, not from 7" in _put(
        serve(), {"upload": "u1", "offset": 7}, table(5), b""
    )


def test_what_did_not_arrive_is_not_committed(client: Client) -> None:
    _begin(client, "u1")
    with pytest.raises(Conflict, match="5 rows were sent and 0 arrived: go on from row 0"):
        client.act("commit", dataset="digits", upload="u1", rows=5)


def test_an_upload_becomes_no_other_dataset(client: Client) -> None:
    _begin(client, "u1")
    with pytest.raises(Conflict, match="upload u1 was begun for digits, not for letters"):
        client.act("commit", dataset="letters", upload="u1", rows=0)


def test_a_commit_whose_answer_was_lost_answers_the_same_and_leaves_no_second_copy(
    client: Client, store: Store
) -> None:
    made = client.put("digits", table(5), upload="u1")
    assert client.act("commit", dataset="digits", upload="u1", rows=5) == made
    assert client.put("digits", table(5), upload="u1") == made
    assert not store.folder("u1").exists()


def test_what_was_committed_last_is_current_though_the_clock_was_set_back(tmp_path: Path, serve: Served) -> None:
    clock = iter([200.0, 100.0])
    asked = Client(
        f"grpc://127.0.0.1:{serve(store=Store(tmp_path / 'set', now=lambda: next(clock))).port}", "mine", patience=0
    )
    asked.put("digits", table(seed=1))
    asked.put("digits", table(seed=2))
    assert asked.get("digits").equals(table(seed=2))


def test_a_quota_is_kept_and_what_has_expired_makes_room(tmp_path: Path, serve: Served) -> None:
    sent = table()
    full = Store(tmp_path / "small", quota=int(sent.nbytes * 2.5))
    asked = Client(f"grpc://127.0.0.1:{serve(store=full).port}", "mine", patience=0)
    asked.put("one", sent)
    asked.put("two", sent)
    with pytest.raises(Full, match="do not fit into the quota"):
        asked.put("three", sent)
    assert [each["dataset"] for each in asked.list()] == ["one", "two"]
    asked.act("expire", dataset="one", after=-1)
    asked.put("three", sent)
    assert [each["dataset"] for each in asked.list()] == ["three", "two"]


def test_nonsense_is_answered_in_words(client: Client) -> None:
    with pytest.raises(InvalidData, match="there is no action fly: list, begin"):
        client.act("fly")
    with pytest.raises(InvalidData, match="dataset is missing"):
        client.act("delete")
    with pytest.raises(InvalidData, match="schema is no Arrow schema"):
        client.act("begin", upload="u", dataset="d", schema="AAAA")


@pytest.mark.parametrize(
    ("action", "said", "words"),
    [
        ("expire", {"dataset": "digits", "after": math.nan}, "after is missing: this action needs it, as a number"),
        ("commit", {"dataset": "digits", "upload": "u1", "rows": math.inf}, "rows is missing"),
        ("list", {"prefix": ["d"]}, "prefix is missing: this action needs it, as text"),
        (
            "begin",
            {"dataset": "digits", "upload": "u2", "schema": "AAAA", "labels": ["x"]},
            "labels are no JSON object",
        ),
    ],
)
def test_values_of_another_kind_are_named(client: Client, action: str, said: dict[str, object], words: str) -> None:
    client.put("digits", table(5), upload="u1")
    with pytest.raises(InvalidData, match=words):
        client.act(action, **said)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"dataset": 5}, "'5' is no name for a dataset"),
        ({"dataset": "digits", "version": {}, "columns": []}, "'{}' is no version and no upload"),
        ({"dataset": "digits", "columns": "label"}, "columns are no list of names"),
    ],
)
def test_a_command_of_another_kind_is_answered_in_words(
    client: Client, serve: Served, asked: dict[str, object], words: str
) -> None:
    client.put("digits", table(5))
    flight = fl.FlightClient(f"grpc://127.0.0.1:{serve().port}")
    options = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer mine")])
    with pytest.raises(fl.FlightServerError, match=words):
        flight.get_flight_info(fl.FlightDescriptor.for_command(json.dumps(asked).encode()), options)


def test_batches_are_of_a_size_that_flight_likes() -> None:
    batch = pa.record_batch({"x": np.zeros(3_000_000)})
    sizes = [piece.nbytes for piece in pieces([batch])]
    assert sum(sizes) == batch.nbytes
    assert max(sizes) <= 4 * 2**20
    assert [piece.num_rows % 512 for piece in pieces([batch])][:-1] == [0] * (len(sizes) - 1)


def _begin(client: Client, upload: str) -> None:
    schema = b64encode(table(1).schema.serialize().to_pybytes()).decode()
    client.act("begin", upload=upload, dataset="digits", schema=schema)


def _put(server: DataServer, command: dict[str, object], sent: pa.Table, digest: bytes) -> str:
    """What the server says of one bare DoPut."""
    flight = fl.FlightClient(f"grpc://127.0.0.1:{server.port}")
    options = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer mine")])
    writer, _ = flight.do_put(fl.FlightDescriptor.for_command(json.dumps(command).encode()), sent.schema, options)
    with suppress(pa.ArrowException):  # the server may have closed its end by now; close() tells why
        writer.write_with_metadata(sent.to_batches()[0], digest or b"-")
        writer.done_writing()
    with pytest.raises(fl.FlightServerError) as caught:
        writer.close()
    return str(json.loads(caught.value.extra_info)["message"])
