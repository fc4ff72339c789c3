"""Batches through functions of another process, and datasets through them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest

from trainyard.data.client import Client
from trainyard.data.errors import DataError, InvalidData, NotFound, Refused, Unavailable
from trainyard.data.exchange import Compute, Function, FunctionServer, offered
from trainyard.data.exchanging import Exchange
from trainyard.data.mapping import mapped
from trainyard.data.rows import Array
from trainyard.data.sending import Source, source_of
from trainyard.data.testing import table, who


def _sums(batch: dict[str, Array]) -> Mapping[str, Array]:
    return {"sum": batch["pixels"].sum(axis=(1, 2))}


def _through(compute: Compute, data: pa.Table | Source) -> pa.Table:
    source = source_of(data)
    columns = {name: name for name in source.schema.names}
    with offered({"f": compute}) as server, Exchange(server.location, patience=0) as exchange:
        return pa.Table.from_batches([answered for _, answered in exchange.through("f", source, columns)])


@pytest.mark.parametrize("rows", [1, 10_000, 300_000])
def test_every_row_is_answered_in_order(rows: int) -> None:
    data = table(rows)
    answered = _through(_sums, data)
    expected = np.concatenate([each.to_numpy_ndarray() for each in data["pixels"].chunks]).sum(axis=(1, 2))
    assert np.array_equal(answered["sum"].to_numpy(), expected)


def test_tensors_and_words_come_back() -> None:
    data = pa.table({"name": ["a", "bc"], "pixels": table(2)["pixels"].combine_chunks()})
    answered = _through(lambda batch: {"shout": np.char.upper(batch["name"].astype(str)).astype(object), **batch}, data)
    assert answered["shout"].to_pylist() == ["A", "BC"]
    assert answered["pixels"].combine_chunks().equals(data["pixels"].combine_chunks())


def test_what_a_function_raises_is_told_with_its_rows() -> None:
    def late(batch: dict[str, Array]) -> Mapping[str, Array]:
        if (batch["label"] < 0).any():
            raise ZeroDivisionError("a negative label\nand more")
        return batch

    labels = np.zeros(2_000_000, np.int64)
    labels[-1] = -1
    with pytest.raises(DataError, match=r"f, rows \d+ to 1999999: ZeroDivisionError: a negative label$"):
        _through(late, pa.table({"label": labels}))


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda batch: {"y": batch["label"][1:]}, r"it answers y \[9\], where each column needs 10 rows"),
        (lambda batch: {"y": np.float32(1)}, r"it answers y \[\], where each column needs 10 rows"),
        (lambda batch: {}, "it answers nothing"),
    ],
)
def test_an_answer_of_other_rows_is_refused(compute: Compute, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        _through(compute, table(10))


def test_an_answer_that_changes_its_types_is_refused() -> None:
    calls: list[int] = []

    def moody(batch: dict[str, Array]) -> Mapping[str, Array]:
        calls.append(1)
        return {"y": batch["label"].astype(np.float32 if len(calls) > 1 else np.int64)}

    with pytest.raises(InvalidData, match=r"f answers row \d+ on as y: float, the rows before as y: int64"):
        _through(moody, pa.table({"label": np.arange(2_000_000)}))


def test_what_cannot_be_read_is_told_as_that() -> None:
    def broken(row: int) -> Iterator[pa.RecordBatch]:
        yield from table(300_000).to_batches()
        raise InvalidData("the file ends here")

    with pytest.raises(InvalidData, match=r"^the file ends here$"):
        _through(lambda batch: batch, Source(table().schema, broken))


def test_a_name_or_a_token_that_is_not_known() -> None:
    with offered({"f": _sums}) as server, Exchange(server.location, patience=0) as exchange:
        assert exchange.functions() == {"f": ()}
        with pytest.raises(NotFound, match="there is no function 'g' here: f"):
            list(exchange.through("g", source_of(table()), {"pixels": "pixels"}))
    guarded = FunctionServer(dict, who)
    with Exchange(guarded.location, "not mine", patience=0) as exchange, pytest.raises(Refused, match="token"):
        exchange.functions()
    guarded.shutdown()
    with pytest.raises(InvalidData, match="say who may call"), offered({}, "grpc://0.0.0.0:0"):
        pass


def test_a_damaged_batch_is_refused_before_it_is_computed() -> None:
    computed: list[int] = []
    with offered({"f": lambda batch: computed.append(1) or batch}) as server:  # type: ignore[func-returns-value]
        flight = fl.FlightClient(server.location)
        descriptor = fl.FlightDescriptor.for_command(json.dumps({"function": "f"}).encode())
        writer, reader = flight.do_exchange(descriptor)
        batch = table(3).to_batches()[0]
        writer.begin(batch.schema)
        writer.write_with_metadata(batch, b"another digest..")
        writer.done_writing()
        with pytest.raises(fl.FlightServerError, match="arrived damaged"):
            reader.read_all()
    assert not computed


SAME = """
import sys, threading
from trainyard.data.exchange import offered
with offered({"f": lambda batch: batch}, sys.argv[1]) as server:
    print(server.location, flush=True)
    threading.Event().wait()
"""


@contextmanager
def _process(place: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Killed at the end."""
    with subprocess.Popen([sys.executable, "-c", SAME, place], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


def test_a_server_that_is_killed_is_asked_again_for_what_is_missing() -> None:
    data = pa.table({"label": np.arange(8_000_000)})
    with ExitStack() as stack:
        running, place = stack.enter_context(_process("grpc://127.0.0.1:0"))
        exchange = stack.enter_context(Exchange(place, patience=20))
        answered = []
        for _, each in exchange.through("f", source_of(data), {"label": "label"}):
            answered.append(each)
            if len(answered) == 2:
                running.kill()
                running.wait()
                stack.enter_context(_process(place))
    assert pa.Table.from_batches(answered).equals(data)


def test_who_stops_reading_leaves_no_thread() -> None:
    with offered({"f": lambda batch: batch}) as server, Exchange(server.location, patience=0) as exchange:
        before = threading.active_count()
        answers = exchange.through("f", source_of(table(1_000_000)), {"label": "label"})
        next(answers)
        answers.close()
        assert threading.active_count() == before


def test_a_dataset_becomes_another(client: Client) -> None:
    data = table(50_000)
    client.put("digits", data)
    sums: Compute = lambda batch: {"sum": batch["x"].sum(axis=(1, 2))}  # noqa: E731
    with offered({"sums": sums}) as server, Exchange(server.location, patience=0) as exchange:
        source = mapped(client, client.find("digits"), exchange, "sums", {"x": "pixels"}, keep=("label",))
        client.put("sums", source)
    made = client.get("sums")
    assert made.schema.names == ["label", "sum"]
    assert made["label"].combine_chunks().equals(data["label"].combine_chunks())
    assert made.num_rows == 50_000


def test_what_cannot_be_mapped_is_said_before_anything_is_computed(client: Client) -> None:
    client.put("digits", table(10))
    client.put("empty", table(0))
    known = {"f": Function(lambda batch: batch, ("x",)), "same": Function(lambda batch: batch)}
    server = FunctionServer(lambda: known, lambda _: "local")
    with Exchange(server.location, patience=0) as exchange:
        for name, function, inputs, keep, words in (
            ("digits", "g", {}, (), "no function 'g' there: f, same"),
            ("digits", "f", {}, (), r"f takes 'x' and digits has pixels, label: say which column that is \(x=COLUMN\)"),
            ("digits", "f", {"x": "size"}, (), "digits has no column 'size'"),
            ("digits", "f", {"y": "label"}, (), "f takes no 'y': it takes x"),
            ("digits", "same", {}, ("colour",), "digits has no column 'colour'"),
            ("digits", "same", {}, ("label",), "column 'label' cannot be kept"),
            ("empty", "same", {}, (), "empty has no rows"),
        ):
            with pytest.raises(DataError, match=words):
                mapped(client, client.find(name), exchange, function, inputs, keep)
    server.shutdown()


def test_nobody_there() -> None:
    with offered({}) as server:
        place = server.location
        with pytest.raises(Unavailable, match="cannot listen"):
            FunctionServer(dict, who, place)
    with Exchange(place, patience=0) as exchange, pytest.raises(Unavailable, match="does not answer"):
        exchange.functions()
