"""Job files on this machine: found, read, and made complete (paths become absolute) before they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainyard.common.contract import jobfile
from trainyard.common.errors import InvalidInput

NAMES = ("job.yaml", "job.yml", "job.json")


def read(path: Path) -> dict[str, Any]:
    """The document of a job file; a folder stands for the job file in it. `workdir` is made absolute: relative to the
    file, or the file's folder when absent. Raises InvalidInput."""
    file = _find(path)
    document = read_document(file)
    workdir = document.get("workdir", ".")
    if isinstance(workdir, str):
        document["workdir"] = absolute(file.parent, workdir)
    return document


def read_document(file: Path) -> dict[str, Any]:
    """A file as it stands, YAML or JSON. Raises InvalidInput."""
    text = _text(file)
    return jobfile.parse_json(text) if file.suffix == ".json" else jobfile.parse_yaml(text)


def _find(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in NAMES:
        if (path / name).exists():
            return path / name
    raise InvalidInput.one(f"there is no {NAMES[0]} in {path}", hint="`yard init` writes one")


def _text(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise FileNotFoundError
        jobfile.check_size(file.stat().st_size)
        return file.read_bytes()
    except FileNotFoundError:
        raise InvalidInput.one(f"there is no file {file}", hint="`yard init` writes one") from None
    except OSError as error:  # no permission, a symbolic link that leads to itself
        raise InvalidInput.one(f"{file} cannot be read: {error.strerror}") from error


def absolute(folder: Path, workdir: str) -> str:
    """A folder that a file in `folder` names. Raises InvalidInput."""
    path = Path(workdir).expanduser()
    try:
        return str((folder / path).resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput.one(f"{workdir[:80]!r} cannot be followed: {error}", "workdir") from error
