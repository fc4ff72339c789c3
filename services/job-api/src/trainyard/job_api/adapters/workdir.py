"""A job's files: looked for while its author is still there to be told, and sent where the job cannot see them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.sources import IN_IMAGE, MOST
from trainyard.common.contract.views import SourcesView, SourceView
from trainyard.common.errors import InvalidInput
from trainyard.common.sources import archive
from trainyard.common.sources.packing import pack
from trainyard.common.sources.store import Sources


@dataclass(frozen=True, slots=True)
class Folders:
    """Implements ports.Workdirs."""

    sources: Sources
    templates: Path
    """Its folders are sent for whoever asks: they are ours, and no secret."""
    shared: bool
    """Whoever submits works on this machine, as this user: folders are found here."""
    sent: bool
    """Jobs run on machines that do not see this one's folders."""

    @property
    def terms(self) -> SourcesView:
        return SourcesView(wanted=self.sent, shared=self.shared, most=MOST)

    async def take(self, data: bytes) -> SourceView:
        return SourceView(source=await self.sources.put(data), size=len(data))

    async def settle(self, spec: JobSpec) -> JobSpec:
        folder = Path(spec.workdir) if spec.workdir is not None else None
        if folder is not None and not folder.is_absolute():
            raise InvalidInput.one(f"{spec.workdir!r} is relative", "workdir", "give the whole path")
        if spec.source == IN_IMAGE:
            return spec
        if spec.source is not None:
            await self._keep(spec.source, spec)
            return spec
        if folder is None:
            return spec
        if not self.sent:
            if self.shared:
                await asyncio.to_thread(_check, folder, spec)
            return spec
        if await asyncio.to_thread(self._is_ours, folder):
            await asyncio.to_thread(_check, folder, spec)
            source = await self.sources.put(await asyncio.to_thread(pack, folder))
            return spec.model_copy(update={"source": source})
        return spec  # it may be in the image; where it is not, the job's first lines say so

    async def _keep(self, source: str, spec: JobSpec) -> None:
        data = await self.sources.keep(source)
        if data is None:
            raise InvalidInput.one(
                f"there is no archive {source} here",
                "source",
                "send it first with PUT /v1/sources, as `yard submit` does",
            )
        script = _script(spec.command)
        if script is not None and script.removeprefix("./") not in await asyncio.to_thread(archive.names, data):
            raise InvalidInput.one(f"there is no {script} in the folder that was sent", "command")

    def _is_ours(self, folder: Path) -> bool:
        if not folder.is_dir():
            return False
        return self.shared or folder.resolve().is_relative_to(self.templates.resolve())


def _check(folder: Path, spec: JobSpec) -> None:
    _must_exist(folder, "workdir")
    if not folder.is_dir():
        raise InvalidInput.one(f"{folder} is not a folder", "workdir")
    script = _script(spec.command)
    if script is not None:
        _must_exist(folder / script, "command")


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
