"""Templates where they lie: files that ship with Trainyard, and a bucket for those that people publish.

The bucket's key is `<name>.<version>`; it is written only where there is none, so of two who publish the same version at
once one is told. A document that this release cannot read is passed over and stays where it is.
"""

from __future__ import annotations

from pathlib import Path

from trainyard.common.bus.documents import document
from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.contract import jobfile
from trainyard.common.contract.explain import validate
from trainyard.common.contract.templates import StoredTemplate, Template
from trainyard.common.errors import Conflict, InvalidInput, NotFound, StaleSequence, TrainyardError

BUCKET = "trainyard-templates"


def shipped(folder: Path) -> tuple[StoredTemplate, ...]:
    """The templates of a folder, a file each. Raises TrainyardError that names the faulty file."""
    return tuple(_read(file) for file in sorted(folder.glob("*.yaml")))


def _read(file: Path) -> StoredTemplate:
    try:
        document = {"folder": str(file.parent.resolve()), **jobfile.parse_yaml(file.read_bytes())}
        template = validate(Template, document)
    except (OSError, InvalidInput) as error:
        raise TrainyardError(f"template {file} cannot be used: {error}") from error
    if template.name != file.stem:
        raise TrainyardError(f"{file} names itself {template.name!r}")
    return StoredTemplate(template=template, owner="", published_at="", built_in=True)


class BucketTemplates:
    """Implements ports.Templates."""

    def __init__(self, bucket: KeyValue, built_in: tuple[StoredTemplate, ...]) -> None:
        self._bucket = bucket
        self._built_in = built_in

    async def all(self) -> list[StoredTemplate]:
        stored = [document(entry, StoredTemplate) for entry in await self._bucket.entries()]
        return [*self._built_in, *(template for template in stored if template is not None)]

    async def add(self, template: StoredTemplate) -> None:
        key = _key(template.template.name, template.template.version)
        try:
            await self._bucket.put(key, template.dump(), after=0)
        except StaleSequence as error:
            raise Conflict(f"template {key} was published by somebody else at this moment") from error

    async def remove(self, name: str, version: str) -> None:
        key = _key(name, version)
        entry = await self._bucket.get(key)
        if entry is None:
            raise NotFound(f"there is no template {name} {version}")
        await self._bucket.delete(key, after=entry.revision)


def _key(name: str, version: str) -> str:
    return f"{name}.{version}"
