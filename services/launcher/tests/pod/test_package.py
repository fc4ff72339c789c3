"""The package that pods import from: its bytes, and that all of it works from a zip and on an old Python."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path

import pytest

from trainyard.launcher.adapters.worker_files import worker_files
from trainyard.launcher.core.manifests.worker import MAX_BYTES, package

FILES = worker_files()


def test_the_same_files_are_the_same_bytes_and_others_another_name() -> None:
    made = package(FILES)
    assert package(dict(reversed(FILES.items()))) == made
    changed = package({**FILES, "trainyard/worker/place.py": b"# changed"})
    assert changed.name != made.name
    assert len(made.data) < MAX_BYTES / 4, "room to grow"
    assert made.manifest("ns")["metadata"]["name"] == made.name


def test_what_a_config_map_cannot_hold_is_refused() -> None:
    files = {f"x{number}.py": random.Random(number).randbytes(300_000) for number in range(4)}
    with pytest.raises(ValueError, match="a ConfigMap holds 1000000"):
        package(files)


@pytest.mark.parametrize(
    ("package_name", "alone"), [("worker", ("-S",)), ("data", ())], ids=["worker, with nothing installed", "data"]
)
def test_every_module_can_be_imported_from_the_zip(tmp_path: Path, package_name: str, alone: tuple[str, ...]) -> None:
    file = tmp_path / "worker.zip"
    file.write_bytes(package(FILES).data)
    modules = [
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path in FILES
        if path.startswith(f"trainyard/{package_name}/") and not path.endswith("__main__.py")
    ]
    code = f"import importlib; print(*[importlib.import_module(name).__file__ for name in {modules}], sep='\\n')"
    done = subprocess.run(
        [sys.executable, *alone, "-c", code], check=False, env={"PYTHONPATH": str(file)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(str(file)) for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == len(modules)


SYNTAX = {"worker": (3, 8), "data": (3, 10), "tensors": (3, 10)}
"""Older interpreters of images run jobs too; what has pyarrow is not that old."""


@pytest.mark.parametrize("path", sorted(FILES))
def test_all_of_it_is_written_in_the_syntax_of_old_interpreters(path: str) -> None:
    ast.parse(FILES[path], feature_version=SYNTAX[path.split("/")[1]])
    assert b"from __future__ import annotations" in FILES[path] or path.endswith("__init__.py")
