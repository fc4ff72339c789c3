"""`yard data` against a data server in a process of its own, as people type it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.integration
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what others could reach


class Shell:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "TRAINYARD_STATE": str(folder / "state"), "COLUMNS": "200"}
        self.env.pop("TRAINYARD_TOKEN", None)

    def yard(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trainyard.client", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False, timeout=60
        )

    def serve(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "trainyard.client", "data", "serve", "--port", "0", *options]
        process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        name, _, place = process.stdout.readline().strip().partition("=")
        assert name == "TRAINYARD_DATA"
        self.env[name] = place.replace(EVERYWHERE, "127.0.0.1")
        return process


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    np.savez(tmp_path / "digits.npz", pixels=np.zeros((300, 8, 8), np.float32), label=np.arange(300))
    return Shell(tmp_path)


@pytest.fixture
def served(shell: Shell) -> Iterator[Shell]:
    with shell.serve() as process:
        yield shell
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_a_dataset_from_put_to_rm(served: Shell) -> None:
    assert served.yard("data", "put", "digits", "digits.npz", "--label", "from=sklearn").stdout.startswith(
        "digits  300 rows"
    )
    (item,) = json.loads(served.yard("data", "list", "--json").stdout)["datasets"]
    assert (item["rows"], item["labels"], item["owner"] != "") == (300, {"from": "sklearn"}, True)
    shown = served.yard("data", "head", "digits", "-n", "2", "--columns", "label").stdout.split()
    assert shown == ["label", "0", "1"]
    for name in ("labels.csv", "labels.parquet", "labels.arrow", "labels.feather", "digits.npz"):
        columns = () if name == "digits.npz" else ("--columns", "label")
        done = served.yard("data", "get", "digits", "-o", f"out-{name}", *columns)
        assert done.stdout == f"out-{name}  300 rows\n", done.stderr
    with np.load(served.folder / "out-digits.npz") as stored:
        assert stored["pixels"].shape == (300, 8, 8)
    assert served.yard("data", "pin", "digits").returncode == 0
    refused = served.yard("data", "rm", "digits")
    assert (refused.returncode, "is pinned: unpin it first" in refused.stderr) == (6, True)
    served.yard("data", "unpin", "digits")
    assert served.yard("data", "rm", "digits").stdout == "digits: 1 version removed\n"
    assert served.yard("data", "head", "digits").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("put", "digits", "nothing.csv"), 4, "there is nothing at nothing.csv"),
        (("put", "Digits", "digits.npz"), 4, "'Digits' is no name for a dataset"),
        (("put", "digits", "digits.npz", "--size", "big"), 4, "'big' is no HEIGHTxWIDTH"),
        (("put", "digits", "digits.npz", "--label", "x"), 4, "'x' is no KEY=VALUE"),
        (("get", "none", "-o", "x.csv"), 3, "there is no dataset none here"),
        (("serve", "--root", "digits.npz/data", "--port", "0"), 4, "digits.npz/data cannot be used: Not a directory"),
        (("serve", "--root", "digits.npz", "--port", "0"), 4, "digits.npz cannot be used: "),
        (("expire", "digits", "soon"), 4, "a duration is a number of seconds"),
        (("serve", "--quota", "much"), 4, "a size is a number of bytes"),
        (("serve", "--certificate", "x.pem"), 4, "TLS needs both"),
        (("serve", "--listen", EVERYWHERE), 1, "there is no token yet"),
    ],
)
def test_what_is_wrong_is_one_sentence(served: Shell, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = served.yard("data", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_place_that_takes_no_file_is_said(served: Shell) -> None:
    served.yard("data", "put", "digits", "digits.npz")
    for place in ("none/x.parquet", "none/x.arrow", "none/x.npz", "none/x.feather"):
        done = served.yard("data", "get", "digits", "-o", place)
        assert (done.returncode, len(done.stderr.splitlines())) == (4, 1), done.stderr
        assert f"{place} cannot be written: No such file or directory" in done.stderr


def test_without_a_server_it_is_said(shell: Shell) -> None:
    shell.env["TRAINYARD_DATA"] = "grpc://127.0.0.1:9"
    done = shell.yard("data", "list")
    assert (done.returncode, "the data server does not answer" in done.stderr) == (5, True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TRAINYARD_DATA", "http://127.0.0.1:8815", "'http://127.0.0.1:8815' is no address of a server"),
        ("TRAINYARD_DATA", "grpc://127.0.0.1:99999", "is no address of a server: grpc://HOST:PORT is one"),
        ("TRAINYARD_DATA_CA", "nowhere.pem", "TRAINYARD_DATA_CA: nowhere.pem cannot be read: No such file"),
    ],
)
def test_an_environment_that_names_no_server_is_said(shell: Shell, name: str, value: str, words: str) -> None:
    shell.env[name] = value
    done = shell.yard("data", "list")
    assert (done.returncode, len(done.stderr.splitlines()), words in done.stderr) == (4, 1, True), done.stderr


def test_others_need_a_token(shell: Shell) -> None:
    token = shell.yard("token", "create", "somebody").stdout.strip()
    with shell.serve("--listen", EVERYWHERE) as process:
        assert shell.yard("data", "list").returncode == 7
        shell.env["TRAINYARD_TOKEN"] = token
        assert shell.yard("data", "put", "digits", "digits.npz").returncode == 0
        (item,) = json.loads(shell.yard("data", "list", "--json").stdout)["datasets"]
        assert item["owner"] == "somebody"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_a_port_that_is_taken_is_said(served: Shell) -> None:
    port = served.env["TRAINYARD_DATA"].rpartition(":")[2]
    done = served.yard("data", "serve", "--port", port, "--root", "other")
    assert done.returncode == 5
    assert f"it cannot listen on grpc://127.0.0.1:{port}" in done.stderr


def test_two_servers_of_one_folder_are_refused(served: Shell) -> None:
    done = served.yard("data", "serve", "--port", "0")
    assert (done.returncode, "another data server works in" in done.stderr) == (6, True)


def test_two_that_put_at_once_make_two_versions(served: Shell) -> None:
    command = [sys.executable, "-m", "trainyard.client", "data", "put", "digits", "digits.npz"]
    puts = [subprocess.Popen(command, cwd=served.folder, env=served.env, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [each.wait(60) for each in puts] == [0] * 4
    assert len(json.loads(served.yard("data", "list", "--json").stdout)["datasets"]) == 4
