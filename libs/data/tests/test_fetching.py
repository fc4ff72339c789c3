"""Sources that are elsewhere: a web server, and what an object store has of arrays and pictures."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from trainyard.data.errors import InvalidData
from trainyard.data.sending import Source
from trainyard.data.sources import read

TABLE = pa.table({"x": np.arange(5000)})


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A real server of `tmp_path`/web; its address."""
    (tmp_path / "web").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "web")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where fetched files lie."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def _rows(source: Source) -> pa.Table:
    return pa.Table.from_batches(source.rows_from(0), source.schema)


def test_files_of_a_web_server(tmp_path: Path, web: str, scratch: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "web" / "a b.parquet")
    np.savez(tmp_path / "web" / "arrays.npz", x=np.arange(5000))
    for name in ("a%20b.parquet?signature=1", "arrays.npz"):
        source = read(f"{web}/{name}")
        assert _rows(source).equals(TABLE)
        del source
        assert not list(scratch.iterdir()), "what was fetched is gone with its source"


def test_what_a_web_server_does_not_have(tmp_path: Path, web: str, scratch: Path) -> None:
    (tmp_path / "web" / "bad.parquet").write_bytes(b"nonsense")
    with pytest.raises(InvalidData, match=r"/gone\.parquet cannot be read: 404 File not found$"):
        read(f"{web}/gone.parquet")
    with pytest.raises(InvalidData, match=rf"^{web}/bad\.parquet cannot be read: .*") as fault:
        read(f"{web}/bad.parquet")
    assert "trainyard-fetched" not in str(fault.value)
    with pytest.raises(InvalidData, match="Connection refused"):
        read("http://127.0.0.1:1/a.parquet")
    fault = None  # type: ignore[assignment] # it holds the frames that hold the file
    assert not list(scratch.iterdir())


def test_a_download_that_breaks_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def half() -> None:
            with server.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

        threading.Thread(target=half, daemon=True).start()
        place = f"http://127.0.0.1:{server.getsockname()[1]}/a.csv"
        with pytest.raises(InvalidData, match=r"a\.csv (broke off: 4 bytes came, 100 were told|cannot be read)"):
            read(place)


def test_arrays_and_pictures_of_an_object_store(tmp_path: Path, scratch: Path) -> None:
    store = tmp_path / "store"
    (store / "pets" / "cat").mkdir(parents=True)
    Image.new("RGB", (4, 2), (9, 8, 7)).save(store / "pets" / "cat" / "1.png")
    np.save(store / "x.npy", np.arange(5000))
    assert _rows(read((store / "x.npy").as_uri())).equals(TABLE)
    pets = _rows(read((store / "pets").as_uri()))
    assert pets["label"].to_pylist() == ["cat"]
    assert pets["image"].chunk(0).to_numpy_ndarray().shape == (1, 2, 4, 3)
    with pytest.raises(InvalidData, match="there is nothing at file:///nowhere"):
        read("file:///nowhere")
    with pytest.raises(InvalidData, match="cannot be read"):
        read("ftp://host/file.csv")
    assert not list(scratch.iterdir())
