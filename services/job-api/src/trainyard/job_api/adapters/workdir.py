"""Looks for a job's files while its author is still there to be told."""

from __future__ import annotations

from pathlib import Path

from trainyard.common.contract.jobs import JobSpec
from trainyard.common.errors import InvalidInput


class LocalWorkdirs:
    """Implements ports.Workdirs where gateway and launcher share a file system."""

    def check(self, spec: JobSpec) -> None:
        if spec.workdir is None:
            return
        folder = Path(spec.workdir)
        if not folder.is_absolute():
            raise InvalidInput.one(f"{spec.workdir!r} is relative", "workdir", "give the whole path")
        _must_exist(folder, "workdir")
        if not folder.is_dir():
            raise InvalidInput.one(f"{folder} is not a folder", "workdir")
        script = _script(spec.command)
        if script is not None:
            _must_exist(folder / script, "command")


class RemoteWorkdirs:
    """Implements ports.Workdirs where only the launcher's machines see the files."""

    def check(self, spec: JobSpec) -> None:
        if spec.workdir is not None and not Path(spec.workdir).is_absolute():
            raise InvalidInput.one(f"{spec.workdir!r} is relative", "workdir", "give the whole path")


def _must_exist(path: Path, where: str) -> None:
    try:
        path.resolve(strict=True)
    except FileNotFoundError:
        raise InvalidInput.one(f"there is no {path}", where) from None
    except PermissionError:
        raise InvalidInput.one(f"{path} may not be read by this user", where) from None
    except (OSError, RuntimeError) as error:  # a symbolic link that leads to itself, a name that is too long
        reason = getattr(error, "strerror", None) or "a symbolic link leads to itself"
        raise InvalidInput.one(f"{path} cannot be followed: {reason}", where) from error


def _script(command: tuple[str, ...]) -> str | None:
    """`train.py` of `python train.py …`; None when the command is something else."""
    if len(command) > 1 and Path(command[0]).name.startswith("python") and command[1].endswith(".py"):
        return command[1]
    return None
