"""Files of every kind become datasets, and what is wrong with one is said with its name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, feather, parquet

from trainyard.data.client import Client
from trainyard.data.dataset import Dataset
from trainyard.data.errors import InvalidData
from trainyard.data.rows import view
from trainyard.data.sources import column, read

ROWS = 5000
TABLE = pa.table({"x": np.arange(ROWS), "y": np.linspace(0, 1, ROWS), "word": [f"w{at % 7}" for at in range(ROWS)]})


def write(folder: Path, name: str) -> str:
    path = folder / name
    match name.partition(".")[2]:
        case "parquet":
            parquet.write_table(TABLE, path, row_group_size=700)
        case "csv":
            csv.write_csv(TABLE, path)
        case "csv.gz":
            csv.write_csv(TABLE, folder / "plain")
            path.write_bytes(gzip.compress((folder / "plain").read_bytes()))
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()))
        case "feather":
            feather.write_feather(TABLE, path)
        case "arrow":
            with pa.ipc.new_file(path, TABLE.schema) as writer:
                writer.write_table(TABLE, max_chunksize=800)
    return str(path)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz", "a.jsonl", "a.feather", "a.arrow"])
def test_a_table_in_a_file(tmp_path: Path, client: Client, name: str) -> None:
    source = read(write(tmp_path, name))
    client.put("table", source)
    assert client.get("table").equals(TABLE)
    assert pa.Table.from_batches(source.rows_from(3333), source.schema).equals(TABLE.slice(3333))


def test_a_folder_of_files_is_one_table_by_path_or_uri(tmp_path: Path) -> None:
    for at, part in enumerate((TABLE.slice(0, 2000), TABLE.slice(2000))):
        parquet.write_table(part, tmp_path / f"part-{at}.parquet")
    for place in (str(tmp_path), tmp_path.as_uri()):
        source = read(place)
        assert pa.Table.from_batches(source.rows_from(0), source.schema).equals(TABLE)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays(tmp_path: Path, client: Client, ending: str) -> None:
    pixels = np.random.default_rng(0).random((3000, 4, 2), np.float32)
    np.save(tmp_path / "pixels.npy", pixels)
    np.savez(tmp_path / "pixels.npz", pixels=pixels, label=np.arange(3000))
    client.put("pixels", read(str(tmp_path / f"pixels.{ending}")))
    batches = list(Dataset("pixels", client=client).numpy(256))
    assert np.array_equal(np.concatenate([batch["pixels"] for batch in batches]), pixels)
    assert set(batches[0]) == ({"pixels"} if ending == "npy" else {"pixels", "label"})


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6, dtype=np.float32).reshape(3, 2).T[None],
        np.zeros((0, 3, 2), np.int16),
        np.arange(12).reshape(3, 4)[::-1, ::2],
        np.array([[True, False], [False, False]]),
        np.zeros((4, 1), np.float16),
    ],
    ids=["one row turned round", "no row", "strides that go back", "flags", "half"],
)
def test_tensors_of_every_layout(values: np.ndarray) -> None:
    assert np.array_equal(view(column(values)), values)
    assert view(column(values)).dtype == values.dtype


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for at in range(10):
        folder = tmp_path / "pets" / ("cat" if at % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (8, 6, 3), np.uint8)).save(folder / f"{at}.png")
    return tmp_path / "pets"


def test_folders_of_pictures(pictures: Path, client: Client) -> None:
    client.put("pets", read(str(pictures)))
    (batch,) = Dataset("pets", client=client).numpy(100)
    assert batch["label"].tolist() == ["cat"] * 5 + ["dog"] * 5
    assert np.array_equal(batch["image"][0], np.asarray(Image.open(pictures / "cat" / "1.png")))


def test_pictures_of_several_sizes_are_resized_where_it_is_said(pictures: Path, client: Client) -> None:
    Image.new("L", (30, 20)).save(pictures / "dog" / "other.png")
    with pytest.raises(InvalidData, match=r"other\.png is of another size than .*1\.png: say one"):
        client.put("pets", read(str(pictures)))
    assert client.list() == []
    client.put("pets", read(str(pictures), size=(16, 12)))
    assert next(iter(Dataset("pets", client=client).numpy(11)))["image"].shape == (11, 16, 12, 3)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, "there is nothing at"),
        ("a.parquet", b"PAR1 no", "cannot be read"),
        ("a.txt", b"x", "holds nothing in a format that is known: known are parquet, csv"),
        ("a.npy", b"\x93NUMPY\x01", "cannot be read"),
        ("a.npz", b"PK\3\4 and no more", "a.npz cannot be read: File is not a zip file"),
        ("a.csv", b"x,y\n1,2\n3\n", "cannot be read: Invalid: CSV parse error: Row #3: Expected 2 columns, got 1"),
        ("a.jsonl", b"{broken", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, client: Client, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=words):
        client.put("broken", read(str(tmp_path / name)))
    assert client.list() == []


def test_arrays_of_several_lengths_and_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", a=np.zeros(3), b=np.zeros((4, 2)))
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    with pytest.raises(InvalidData, match=r"has a \[3\], b \[4, 2\]: every array needs the same first dimension"):
        read(str(tmp_path / "two.npz"))
    with pytest.raises(InvalidData, match="Python objects"):
        read(str(tmp_path / "objects.npy"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros(3, np.complex64), "x of .*x.npy cannot be read: no column holds complex64"),
        (np.zeros((3, 2), np.longdouble), "no column holds float128"),
        (np.zeros(3, [("a", np.int32)]), "no column holds"),
        (np.zeros((3, 0)), r"a row of shape \[0\] holds nothing, which no column can say"),
    ],
)
def test_arrays_that_no_column_holds_are_refused(tmp_path: Path, values: np.ndarray, words: str) -> None:
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(InvalidData, match=words):
        read(str(tmp_path / "x.npy"))


def test_an_archive_with_a_damaged_array_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.arange(1000))
    damaged = bytearray((tmp_path / "x.npz").read_bytes())
    damaged[1000] ^= 255
    (tmp_path / "x.npz").write_bytes(damaged)
    with pytest.raises(InvalidData, match="cannot be read: Bad CRC-32"):
        read(str(tmp_path / "x.npz"))


def test_numbers_in_the_other_byte_order_come_as_they_are(tmp_path: Path, client: Client) -> None:
    np.savez(tmp_path / "x.npz", flat=np.arange(3, dtype=">f4"), tensor=np.arange(6, dtype=">i2").reshape(3, 2))
    client.put("x", read(str(tmp_path / "x.npz")))
    batch = next(iter(Dataset("x", client=client).numpy(3)))
    assert (batch["flat"].tolist(), batch["tensor"].tolist()) == ([0, 1, 2], [[0, 1], [2, 3], [4, 5]])


def test_files_of_two_kinds_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet")
    write(tmp_path, "b.csv")
    with pytest.raises(InvalidData, match="holds csv and parquet together"):
        read(str(tmp_path))
