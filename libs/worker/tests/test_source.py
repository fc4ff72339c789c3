"""The job's folder from its archive."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from trainyard.worker.pod.source import unpack


def _archive(tmp_path: Path, **files: str) -> str:
    with zipfile.ZipFile(tmp_path / "source.zip", "w") as made:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name.replace("__", "/"))
            entry.external_attr = (0o100755 if name.endswith("run") else 0o100644) << 16
            made.writestr(entry, text)
    return str(tmp_path / "source.zip")


def test_files_are_there_as_they_were(tmp_path: Path) -> None:
    unpack(_archive(tmp_path, train="a", pkg__run="#!/bin/sh"), str(tmp_path / "source"))
    assert (tmp_path / "source" / "train").read_text() == "a"
    assert (tmp_path / "source" / "pkg" / "run").stat().st_mode & 0o111
    assert not (tmp_path / "source" / "train").stat().st_mode & 0o111
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "source.zip"]


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "mine").write_text("kept")
    unpack(_archive(tmp_path, train="a"), str(tmp_path / "source"))
    assert [path.name for path in (tmp_path / "source").iterdir()] == ["mine"]


def test_an_empty_archive_is_an_empty_folder(tmp_path: Path) -> None:
    unpack(_archive(tmp_path), str(tmp_path / "source"))
    assert not list((tmp_path / "source").iterdir())


def test_a_damaged_archive_leaves_nothing_behind(tmp_path: Path) -> None:
    file = Path(_archive(tmp_path, one="a", two="bbbb"))
    file.write_bytes(file.read_bytes().replace(b"bbbb", b"cccc"))
    with pytest.raises(zipfile.BadZipFile):
        unpack(str(file), str(tmp_path / "source"))
    assert [path.name for path in tmp_path.iterdir()] == ["source.zip"]
