"""What stands in the way of a first start is told in a sentence that says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "dirname", "tail", "cat", "cksum", "sed", "mkdir", "ln", "printf", "env", "uname")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of the project without what was installed into it."""
    target = tmp_path / "clone"
    target.mkdir()
    for name in ("start.sh", "stop.sh", "test.sh", "pyproject.toml"):
        shutil.copy2(ROOT / name, target / name)
    for folder in ("tools", "requirements", "libs", "services"):
        shutil.copytree(
            ROOT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__", "tests", "*.lock.tmp")
        )
    return target


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with the plainest tools and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        if found:
            (folder / tool).symlink_to(found)
    return folder


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def start(
    clone: Path, path: Path, script: str = "start.sh", *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(path), "HOME": str(clone), **env}
    return subprocess.run(
        ["/bin/sh", script, *arguments],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_no_python_and_an_old_python(clone: Path, bare_path: Path) -> None:
    done = start(clone, bare_path)
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    program(bare_path / "python3", 'case "$1" in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    done = start(clone, bare_path)
    assert "python3 is: Python 3.9.2" in done.stderr
    assert "apt install python3" in done.stderr


def test_neither_pip_nor_venv(clone: Path, bare_path: Path) -> None:
    program(bare_path / "python3", f'case "$*" in *pip*|*venv*) exit 1;; esac; exec {sys.executable} "$@"')
    done = start(clone, bare_path)
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr


def test_no_network(clone: Path, bare_path: Path) -> None:
    (bare_path / "python3").symlink_to(sys.executable)
    (bare_path / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    nowhere = "http://127.0.0.1:9/simple"
    done = start(clone, bare_path, UV_DEFAULT_INDEX=nowhere, UV_CACHE_DIR=str(clone / "cache"), UV_HTTP_RETRIES="0")
    assert done.returncode == 1
    assert "could not be installed" in done.stderr
    assert "PIP_INDEX_URL" in done.stderr
    assert not (clone / ".venv" / ".installed-runtime").exists()


def test_an_unknown_option_and_stopping_what_was_never_started(clone: Path, bare_path: Path) -> None:
    assert "there is only --detach" in start(clone, bare_path, "start.sh", "--fast").stderr
    done = start(clone, bare_path, "stop.sh")
    assert (done.returncode, "no yard is up" in done.stdout) == (0, True)


def test_a_state_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    env = {**os.environ, "TRAINYARD_STATE": str(tmp_path / "file" / "state"), "TRAINYARD_BASE_PORT": "19990"}
    done = subprocess.run(
        [sys.executable, "-m", "trainyard.client", "up"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "TRAINYARD_STATE" in done.stderr
    assert "Traceback" not in done.stderr
