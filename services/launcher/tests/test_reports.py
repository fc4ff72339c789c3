"""Report files that no worker of ours wrote: what a job leaves there may hold up neither the launcher nor its own end."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from trainyard.launcher.adapters.local.reports import ReportReader
from trainyard.launcher.adapters.reported import parse, parse_numbered

GOOD = '{"epoch": 1, "metrics": {"loss": 0.5}}'


@pytest.mark.parametrize(
    "line",
    [
        "[" * 60_000,
        '{"epoch": ' + "9" * 400 + ', "metrics": {"loss": ' + "9" * 400 + "}}",
        '{"epoch": 1e300, "metrics": {"loss": 1e308}}',
        '{"epoch": ' + "9" * 5000 + "}",
        '{"metrics": {"\\ud800": 1}}',
    ],
    ids=["deep", "digits", "float", "more-digits", "surrogate"],
)
def test_a_line_that_python_stumbles_over_does_not_hide_the_next(tmp_path: Path, line: str) -> None:
    file = tmp_path / "report.jsonl"
    file.write_text(f"{line}\n{GOOD}\n")
    found = ReportReader().read(file, 0, 0)
    assert (found[-1].number, found[-1].epoch, found[-1].metrics) == (2, 1, {"loss": 0.5})
    for report in found:
        "".join(report.metrics).encode()
        assert abs(report.epoch or 0) <= 2**53


def test_a_name_that_no_message_can_carry_is_made_readable() -> None:
    report = parse(b'{"metrics": {"a\\ud800b": 1}}', 1, 0)
    assert report is not None
    assert report.metrics == {"a?b": 1.0}


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.mkdir()


def _loop(file: Path) -> None:
    file.symlink_to(file)


def _endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def _socket(file: Path) -> None:
    os.chdir(file.parent)  # a socket's path may have a hundred characters
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(file.name)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("make", [_pipe, _folder, _loop, _endless, _socket])
def test_what_is_no_file_is_no_report(tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "report.jsonl")
    assert ReportReader().read(tmp_path / "report.jsonl", 0, 0) == []


@pytest.mark.integration
@pytest.mark.timeout(60)
@pytest.mark.parametrize("trick", ["mkfifo $R", "mkdir $R", 'printf %60000s | tr " " "[" > $R; echo >> $R'])
async def test_a_job_that_plays_tricks_with_its_report_ends_like_any_other(world: Any, trick: str) -> None:
    command = f'R=$TRAINYARD_REPORT; rm -rf "$R"; {trick}; sleep 1.5'  # long enough to be looked at
    job = await world.submit(command)
    await world.until(job, "succeeded")
    await world.until(await world.submit("true"), "succeeded")


def test_a_report_that_says_whose_it_is() -> None:
    made = parse_numbered(b'{"number": 3, "rank": 5, "epoch": 1, "metrics": {"loss": 0.5}}')
    assert made is not None
    assert (made.number, made.rank, made.epoch, made.metrics) == (3, 5, 1, {"loss": 0.5})


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"number": 0, "rank": 1}',
        b'{"rank": 1}',
        b'{"number": "3", "rank": 1}',
        b'{"number": 1, "rank": -1}',
    ],
)
def test_a_report_that_says_nothing_usable_is_dropped(line: bytes) -> None:
    assert parse_numbered(line) is None
