"""Sources in S3, against moto's server, which needs an environment of its own: `just object-store MOTO_SERVER`."""

from __future__ import annotations

import io
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import fs, parquet

from trainyard.data.errors import InvalidData
from trainyard.data.sources import read

pytestmark = pytest.mark.slow
SERVER = os.environ.get("TRAINYARD_TEST_MOTO", "")
TABLE = pa.table({"x": np.arange(3000)})


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """host:port of a server with a bucket."""
    if not SERVER:
        pytest.skip("TRAINYARD_TEST_MOTO names no moto_server (just object-store MOTO_SERVER)")
    from trainyard.common.loopback import free_port  # noqa: PLC0415

    port = free_port()
    with subprocess.Popen([SERVER, "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL) as server:
        try:
            _wait(f"http://127.0.0.1:{port}/moto-api/")
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - of this test alone
        except OSError:
            assert time.monotonic() < deadline, "the server is not up"
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def uri(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What stands behind a path of the bucket, which is filled."""
    for name, value in (("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b"), ("EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(f"AWS_{name}", value)
    options = {"endpoint_override": address, "scheme": "http", "region": "us-east-1"}
    store = fs.S3FileSystem(**options, allow_bucket_creation=True)
    store.create_dir("bucket")
    for at in range(3):
        parquet.write_table(TABLE.slice(at * 1000, 1000), f"bucket/sales/part-{at}.parquet", filesystem=store)
    for name in ("cat", "dog"):
        with store.open_output_stream(f"bucket/pets/{name}/1.png") as file:
            picture = io.BytesIO()
            Image.new("RGB", (4, 2)).save(picture, "png")
            file.write(picture.getvalue())
    with store.open_output_stream("bucket/x.npy") as file:
        array = io.BytesIO()
        np.save(array, np.arange(3000))
        file.write(array.getvalue())
    return "?" + "&".join(f"{name}={value}" for name, value in options.items())


def test_tables_arrays_and_pictures(uri: str) -> None:
    for path in ("sales", "sales/", "x.npy"):
        source = read(f"s3://bucket/{path}{uri}")
        assert pa.Table.from_batches(source.rows_from(0), source.schema).equals(TABLE), path
    source = read(f"s3://bucket/pets{uri}", size=(6, 6))
    pets = pa.Table.from_batches(source.rows_from(0), source.schema)
    assert pets["label"].to_pylist() == ["cat", "dog"]
    for path in ("bucket/none", "none/x.csv"):
        with pytest.raises(InvalidData, match=f"there is nothing at s3://{path}"):
            read(f"s3://{path}{uri}")
