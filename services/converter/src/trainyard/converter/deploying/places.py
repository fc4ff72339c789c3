"""The two ways onto a server: a repository folder that it reads, or its load API, which takes the files along.

A folder keeps versions beside one another, so the former one can be served again whatever happens. What came over the load
API is in the server's memory alone: there the former version comes back only from the server's own repository.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from google.protobuf.json_format import MessageToJson

from trainyard.common.contract.quantities import human_bytes
from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters import repository
from trainyard.converter.deploying.model import Converted
from trainyard.converter.deploying.server import ModelServer

Undo = Callable[[], None]


class Place(Protocol):
    def bring(self, model: Converted, name: str, keep: int) -> tuple[int, Undo]:
        """Onto the server under this name, beside the versions that are there: its version, and how to take it back from
        where it was put. Loaded afterwards, not proven. Raises TrainyardError with nothing left behind."""
        ...


class SharedFolder:
    def __init__(self, server: ModelServer, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def bring(self, model: Converted, name: str, keep: int) -> tuple[int, Undo]:
        home = self._folder / name
        before = {item.name: item.read_bytes() for item in home.iterdir() if item.is_file()} if home.is_dir() else None
        known = repository.versions(home) if before is not None else []
        served = self._server.versions(name)
        config = model.configured(name, keep)
        text = repository.text_of(config)
        beside = {item.name: item.read_text() for item in model.beside.values()}
        version = repository.add(self._folder, name, text, model.version, beside, model.conversion_id)
        if version in known:  # it came from this conversion before
            if version != max(known):
                config.version_policy.specific.versions[:] = [item for item in known if item <= version][-keep:]
            repository.replace(home / "config.pbtxt", repository.text_of(config))

        def undo() -> None:
            if before is None:
                shutil.rmtree(home)
                return
            for file, content in before.items():
                repository.replace(home / file, content)
            if version not in known:
                shutil.rmtree(home / str(version))
            elif version == max(known) and served:  # the converter has put it there; it is left out, not deleted
                config.version_policy.specific.versions[:] = served
                repository.replace(home / "config.pbtxt", repository.text_of(config))

        _load(self._server, name, undo)
        return version, undo


class LoadApi:
    def __init__(self, server: ModelServer) -> None:
        self._server = server

    def bring(self, model: Converted, name: str, keep: int) -> tuple[int, Undo]:
        version = max(self._server.versions(name), default=0) + 1
        if not repository.sendable(model.version):
            words = f"a model of more than {human_bytes(repository.MOST_SENT)} cannot be sent along"
            raise InvalidInput.one(words, "--repository", "name a folder that the server reads")
        found = repository.files_of(model.version)
        files = {f"file:{version}/{item.relative_to(model.version)}": item.read_bytes() for item in found}
        files |= {f"file:{file}": path.read_bytes() for file, path in model.beside.items()}
        config = MessageToJson(model.configured(name, keep), preserving_proto_field_name=True)
        self._server.load(name, config, files)
        return version, lambda: None


def place(server: ModelServer, folder: Path | None) -> Place:
    """Raises InvalidInput for a server that takes models from its folder alone."""
    if folder is not None:
        if not folder.is_dir():
            raise InvalidInput.one(f"there is no folder {folder}", "--repository")
        return SharedFolder(server, folder)
    if server.about()[0] == "trainyard":
        raise InvalidInput.one(
            f"the server at {server.url} takes models from its folder alone",
            "--repository",
            "name the folder that it was started with",
        )
    return LoadApi(server)


def _load(server: ModelServer, name: str, undo: Undo) -> None:
    try:
        server.load(name)
    except BaseException:
        undo()
        raise
