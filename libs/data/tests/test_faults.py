"""What goes wrong on the way: processes that are killed, a full disk, what is too large, many and small."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from trainyard.data.errors import Full, InvalidData, Unavailable
from trainyard.data.manifest import PART
from trainyard.data.sending import LARGEST, Source
from trainyard.data.testing import table
from trainyard.data.testing.process import Process

Start = Callable[..., Process]
ROWS = 5 * PART // 2 // 8  # of a column of int64: two parts and a half


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    made: list[Process] = []

    def run(wrapper: tuple[str, ...] = ()) -> Process:
        made.append(Process(tmp_path / "store", wrapper))
        return made[-1].start()

    yield run
    for process in made:
        process.kill()


def numbers(rows: int = ROWS) -> pa.Table:
    return pa.table({"x": np.arange(rows)})


def test_a_server_that_is_killed_while_it_is_read_from(start: Start) -> None:
    server = start()
    with server.client() as client:
        client.put("numbers", numbers())
        read = []
        for batch in client.batches("numbers"):
            read.append(batch)
            if len(read) in (5, 30):
                server.kill()
                server.start()
        assert pa.Table.from_batches(read).equals(numbers())


def test_a_server_that_is_killed_while_it_is_written_to(start: Start) -> None:
    server, sent = start(), []

    def rows_from(row: int) -> Iterator[pa.RecordBatch]:
        sent.append(row)
        for number, batch in enumerate(numbers().slice(row).to_batches(max_chunksize=2**19)):
            if len(sent) == 1 and number == 25:
                server.kill()
                server.start()
            yield batch

    with server.client() as client:
        made = client.put("numbers", Source(numbers().schema, rows_from))
        assert client.get("numbers").equals(numbers())
    assert made["rows"] == ROWS
    assert len(sent) == 2
    assert sent[1] > 0  # what was safe is not sent again
    assert not list((server.root / "uploads").iterdir())


def test_a_server_that_stays_away_is_told(start: Start) -> None:
    server = start()
    with server.client(patience=0.3) as client:
        client.put("numbers", numbers(10))
        server.kill()
        for ask in (lambda: client.get("numbers"), lambda: client.put("more", numbers(10)), client.list):
            with pytest.raises(Unavailable):
                ask()


WRITER = """
import sys, time
from trainyard.data.testing.process import Process
import numpy as np, pyarrow as pa
process = Process("", port=int(sys.argv[1]))
rows = int(sys.argv[2])
data = pa.table({"x": np.arange(rows)})
def safe(rows):
    print(rows, flush=True)
    if len(sys.argv) > 3:
        time.sleep(600)
process.client().put("numbers", data, upload="u1", progress=safe)
"""


def test_a_client_that_is_killed_is_gone_and_another_goes_on(start: Start) -> None:
    server = start()
    with server.client() as client:
        client.put("warm", numbers(1000))
        before = server.memory
        command = [sys.executable, "-c", WRITER, str(server.port), str(ROWS)]
        with subprocess.Popen([*command, "wait"], stdout=subprocess.PIPE, text=True) as writing:
            assert writing.stdout is not None
            first = int(writing.stdout.readline())
            writing.kill()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert [int(line) for line in done.stdout.split()][-1] == ROWS
        assert client.get("numbers").equals(numbers())
        assert 0 < first < ROWS
        assert server.memory - before < 100 * 2**20


def test_a_reader_that_is_killed_leaves_nothing_behind(start: Start) -> None:
    server = start()
    reader = (
        "import sys\nfrom trainyard.data.testing.process import Process\n"
        "for batch in Process('', port=int(sys.argv[1])).client().batches('numbers'):\n    print(flush=True)\n"
    )
    with server.client() as client:
        client.put("numbers", numbers())
        list(client.batches("numbers"))
        before = server.memory
        for _ in range(5):
            command = [sys.executable, "-c", reader, str(server.port)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as reading:
                assert reading.stdout is not None
                reading.stdout.readline()
                reading.kill()
        assert client.get("numbers").equals(numbers())
        assert server.memory - before < 50 * 2**20


def test_a_disk_that_is_full(start: Start, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    mounts = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    small = f'mount -t tmpfs -o size=8m none {tmp_path / "store"} && exec "$@"'
    if (
        not shutil.which("unshare")
        or subprocess.run([*mounts, small.replace('exec "$@"', "true")], check=False).returncode
    ):
        pytest.skip("no file system of a chosen size: user namespaces are not allowed here")
    server = start((*mounts, small, "sh"))
    with server.client() as client:
        client.put("kept", numbers(1000))
        with pytest.raises(Full, match="the data server's disk is full: delete datasets"):
            client.put("numbers", numbers(2**21))
        assert client.get("kept").equals(numbers(1000))
        client.put("small", numbers(1000))
        assert [each["dataset"] for each in client.list()] == ["kept", "small"]


def test_ten_thousand_small_tensors(start: Start) -> None:
    one = table(1).to_batches()[0]
    many = pa.Table.from_batches([one] * 10_000)
    with start().client() as client:
        assert client.put("many", many)["rows"] == 10_000
        read = client.get("many")
        assert read.equals(many)
        assert len(read.to_batches()) < 100


def test_a_row_that_no_message_can_hold_is_refused(start: Start) -> None:
    server = start()
    with server.client(patience=0) as client:
        row = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(LARGEST + 1, np.uint8)), LARGEST + 1)
        with pytest.raises(InvalidData, match="row 0 has 2147418113 bytes, a row of 2147418112 at most can be sent"):
            client.put("large", pa.table({"x": row}))
        assert client.list() == []
    assert not list((server.root / "uploads").iterdir())


def test_memory_stays_flat_over_a_thousand_transfers(start: Start) -> None:
    server, sent = start(), table(200)
    own = Path("/proc/self/statm")
    with server.client() as client:
        seen = []
        for count in range(1000):
            client.put("again", sent)
            client.get("again")
            client.act("delete", dataset="again")
            if count in (199, 999):
                resident, shared = (int(pages) for pages in own.read_text().split()[1:3])
                seen.append((server.memory, (resident - shared) * 4096))
        for before, after in zip(*seen, strict=True):
            assert after - before < 16 * 2**20


@pytest.mark.slow
def test_more_than_two_to_the_31_elements(start: Start) -> None:
    count = 2**31 + 8
    values = np.zeros(count, np.uint8)
    values[-3:] = 1, 2, 3
    with start().client(same_host=True) as client:
        client.put("huge", pa.table({"x": values}))
        column = client.get("huge")["x"]
        assert len(column) == count
        assert column[-3:].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "feather", "npz"])
def test_a_dataset_that_does_not_fit_onto_the_disk_is_told_and_leaves_nothing(tmp_path: Path, ending: str) -> None:
    code = f"""
import resource, signal, sys
from pathlib import Path
import pyarrow as pa
from trainyard.data import errors, sinks
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
table = pa.table({{"x": range(200_000)}})
try:
    sinks.write(Path({str(tmp_path / "x")!r} + ".{ending}"), table.schema, table.to_batches())
except errors.InvalidData as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == f"{tmp_path}/x.{ending} cannot be written: File too large\n", done.stderr
    assert not list(tmp_path.iterdir())
