"""Rows of a dataset in batches: any order, any place to begin, from this host or another, ranks apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainyard.data.client import Client
from trainyard.data.dataset import Dataset, put
from trainyard.data.errors import InvalidData, Unavailable
from trainyard.data.frameworks import narrow
from trainyard.data.rows import view
from trainyard.data.sending import Source
from trainyard.data.testing import table
from trainyard.data.testing.process import Process

SENT = table(1000)
PIXELS = SENT["pixels"].combine_chunks().to_numpy_ndarray()
LABELS = SENT["label"].to_numpy()


@pytest.fixture(params=["this host", "another"])
def opened(request: pytest.FixtureRequest, client: Client, remote: Client) -> Callable[..., Dataset]:
    chunks = [SENT.slice(at, 150) for at in range(0, 1000, 150)]
    client.put("digits", pa.concat_tables(chunks))
    asked = client if request.param == "this host" else remote
    return lambda **options: Dataset("digits", client=asked, **options)


def labels(batches: object) -> list[int]:
    return [int(label) for batch in batches for label in batch["label"]]  # type: ignore[attr-defined]


def test_rows_come_in_their_order_and_shape(opened: Callable[..., Dataset]) -> None:
    dataset = opened()
    batches = list(dataset.numpy(64))
    assert [len(batch["label"]) for batch in batches] == [64] * 15 + [40]
    assert np.array_equal(np.concatenate([batch["pixels"] for batch in batches]), PIXELS)
    assert batches[0]["pixels"].shape == (64, 4, 2)
    assert len(dataset) == 1000
    assert len(dataset.numpy(64)) == 16
    assert len(dataset.numpy(64, drop_last=True)) == 15
    dataset.close()


def test_a_shuffle_takes_each_row_once_and_pairs_stay_together(opened: Callable[..., Dataset]) -> None:
    batches = opened().numpy(64, shuffle=True, seed=3)
    first = list(batches)
    taken = np.concatenate([batch["pixels"] for batch in first])
    where = {row.tobytes(): at for at, row in enumerate(PIXELS)}
    rows = [where[row.tobytes()] for row in taken]
    assert sorted(rows) == list(range(1000))
    assert labels(first) == [int(LABELS[row]) for row in rows]
    second = np.concatenate([batch["pixels"] for batch in batches])
    assert not np.array_equal(second, taken)  # another epoch, another order
    again = np.concatenate([batch["pixels"] for batch in opened().numpy(64, shuffle=True, seed=3)])
    assert np.array_equal(again, taken)


def test_an_epoch_that_was_left_early_is_not_gone_on_with(opened: Callable[..., Dataset]) -> None:
    early, whole = (opened().numpy(64, shuffle=True, seed=3) for _ in range(2))
    next(iter(early))
    labels(whole)
    assert labels(early) == labels(whole)


@given(batch=st.integers(1, 300), stop=st.integers(0, 40), shuffle=st.booleans(), drop=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_job_that_goes_on_sees_what_it_would_have_seen(
    shared: Client, batch: int, stop: int, shuffle: bool, drop: bool
) -> None:
    options = {"shuffle": shuffle, "drop_last": drop, "seed": 7}
    whole = Dataset("digits", client=shared).numpy(batch, **options)
    expected = [labels(whole), labels(whole)]
    interrupted, seen = Dataset("digits", client=shared).numpy(batch, **options), []
    for number, each in enumerate(interrupted):
        if number == stop:
            break  # this one is lost with the job that was killed
        seen += [int(label) for label in each["label"]]
        state = json.loads(json.dumps(interrupted.state()))
    else:
        state = interrupted.state()
    if stop == 0:
        state = {"epoch": 0, "row": 0}
    resumed = Dataset("digits", client=shared).numpy(batch, **options, state=state)
    rest = labels(resumed)
    if state["epoch"] == 0:
        assert seen + rest == expected[0]
        rest = labels(resumed)
    assert rest == expected[1]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> object:
    process = Process(tmp_path_factory.mktemp("shared") / "store").start()
    with process.client(same_host=True) as client:
        client.put("digits", SENT)
        yield client
    process.kill()


def test_loaders_of_one_dataset_may_run_at_once(opened: Callable[..., Dataset]) -> None:
    dataset = opened()
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda seed: labels(dataset.numpy(64, shuffle=True, seed=seed)), range(8)))
    assert all(sorted(each) == sorted(LABELS.tolist()) for each in seen)


@pytest.mark.parametrize("drop", [False, True])
def test_ranks_share_the_rows(opened: Callable[..., Dataset], drop: bool) -> None:
    seen = [labels(opened(rank=rank, world=3).numpy(10, drop_last=drop)) for rank in range(3)]
    assert {len(each) for each in seen} == {330 if drop else 334}
    together = [label for row in zip(*seen, strict=True) for label in row]
    assert together[: 990 if drop else 1000] == LABELS.tolist()[: 990 if drop else 1000]


def test_a_version_is_kept_while_another_comes(opened: Callable[..., Dataset], client: Client) -> None:
    dataset = opened()
    client.put("digits", table(10, seed=9))
    assert labels(dataset.numpy(100)) == LABELS.tolist()
    assert len(opened()) == 10


def test_what_is_read_here_is_not_copied(client: Client) -> None:
    client.put("digits", SENT)
    batch = next(iter(Dataset("digits", client=client).numpy(64)))
    assert not batch["pixels"].flags.writeable
    assert not batch["pixels"].flags.owndata


def test_words_and_columns(client: Client) -> None:
    client.put(
        "words", pa.table({"text": ["a", None, "c"], "flag": [True, False, True], "n": pa.array([1, 2, 3], pa.int8())})
    )
    (batch,) = Dataset("words", client=client, columns=("text", "flag")).numpy(3)
    assert {name: values.tolist() for name, values in batch.items()} == {
        "text": ["a", None, "c"], "flag": [True, False, True],
    }  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_rows(client: Client, rows: int) -> None:
    client.put("few", table(rows))
    batches = Dataset("few", client=client).numpy(8, shuffle=True)
    assert len(batches) == rows
    assert [len(batch["label"]) for batch in batches] == [1] * rows


def test_lists_of_a_size_are_tensors() -> None:
    nested = pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], pa.list_(pa.list_(pa.int16(), 2), 2))
    assert view(nested).tolist() == nested.to_pylist()
    assert view(nested.slice(1)).tolist() == nested.slice(1).to_pylist()


def test_missing_numbers_are_told() -> None:
    with pytest.raises(InvalidData, match="1 of 3 numbers are missing: fill them before they are put"):
        view(pa.array([1, None, 3]))


def test_what_jax_would_cut_off_is_told() -> None:
    assert narrow("x", np.array([1, -2])).dtype == np.int32
    with pytest.raises(InvalidData, match="x has numbers beyond int32, which JAX cuts off: set jax_enable_x64"):
        narrow("x", np.array([2**31]))


def test_a_batch_of_nothing_is_refused(client: Client) -> None:
    client.put("digits", SENT)
    with pytest.raises(ValueError, match="a batch of 0 rows makes no sense"):
        Dataset("digits", client=client).numpy(0)


def test_without_a_server_it_is_said_how_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAINYARD_DATA", raising=False)
    with pytest.raises(Unavailable, match="TRAINYARD_DATA is not set"):
        Dataset("digits")


def test_a_fault_while_gathering_reaches_who_iterates(client: Client) -> None:
    client.put("holes", Source(pa.schema({"x": pa.int64()}), lambda row: iter([pa.record_batch({"x": [1, None]})])))
    with pytest.raises(InvalidData, match="numbers are missing"):
        list(Dataset("holes", client=client).numpy(2))


def test_arrays_of_a_job_become_a_dataset(client: Client) -> None:
    put("made", {"pixels": np.ones((3, 2)), "label": [1, 2, 3]}, client)
    (batch,) = Dataset("made", client=client).numpy(3)
    assert (batch["pixels"].shape, batch["label"].tolist()) == ((3, 2), [1, 2, 3])
    for wrong in ({}, {"a": 1.0}, {"a": [1, 2], "b": [1]}):
        with pytest.raises(InvalidData, match="the columns of made need the same first dimension, which is the rows"):
            put("made", wrong, client)
