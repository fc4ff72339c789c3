"""Datasets on disk: versions that are committed, and uploads on their way.

    <root>/datasets/<name>/@/<version>/manifest.json, part-00000.arrow …
    <root>/uploads/<id>/manifest.json, part-00000.arrow …

An upload becomes a version by one rename of its folder, so a reader sees all of it or nothing; a name stands for the
version that was committed last. A part is written under another name and renamed when it is whole: what a killed server
leaves is what it had acknowledged, and the client goes on from there. Deleting unlinks: who has a part open or mapped reads
on.

Called by the server's threads; one lock guards the tree, and no data is moved under it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from trainyard.data.errors import Conflict, Full, NotFound
from trainyard.data.manifest import Manifest, Part, checked_name, from_json, to_json

_MANIFEST = "manifest.json"
ABANDONED = 24 * 3600.0
"""Seconds after which an upload that nobody goes on with is removed."""


class Store:
    def __init__(self, root: Path, quota: int | None = None, now: Callable[[], float] = time.time) -> None:
        self.root = root
        self._quota = quota
        self._now = now
        self._lock = threading.RLock()
        self._datasets = root / "datasets"
        self._uploads = root / "uploads"
        for folder in (self._datasets, self._uploads):
            folder.mkdir(parents=True, exist_ok=True)

    # -- what is committed

    def versions(self) -> Iterator[Manifest]:
        """Every version of every dataset, by name and age."""
        for file in sorted(self._datasets.rglob(_MANIFEST)):
            manifest = _read(file)
            if manifest is not None:
                yield manifest

    def get(self, name: str, version: str | None = None) -> Manifest:
        """The current version, or that one. Raises NotFound."""
        if version is None:
            found = max(self._of(name), key=_age, default=None)
        else:
            found = _read(self._versions_of(name) / _plain(version) / _MANIFEST)
        if found is None:
            said = f"{name}, version {version}" if version else name
            raise NotFound(f"there is no dataset {said} here (yard data list shows what there is)")
        return found

    def part(self, manifest: Manifest, index: int) -> Path:
        """The file of one part. Raises NotFound."""
        if not 0 <= index < len(manifest.parts):
            raise NotFound(f"{manifest.name} has {len(manifest.parts)} parts, none of number {index}")
        return self._versions_of(manifest.name) / manifest.version / manifest.parts[index].file

    def delete(self, name: str, version: str | None = None) -> int:
        """That version, or all of them; how many versions are gone. Raises NotFound, and Conflict for pinned ones."""
        with self._lock:
            found = [each for each in self._of(name) if version in (None, each.version)]
            if not found:
                self.get(name, version)
            pinned = [each.version for each in found if each.pinned]
            if pinned:
                raise Conflict(f"{name}, version {pinned[0]}, is pinned: unpin it first (yard data unpin {name})")
            for manifest in found:
                self._remove(manifest)
            return len(found)

    def pin(self, name: str, version: str | None, pinned: bool) -> Manifest:
        return self._changed(replace(self.get(name, version), pinned=pinned))

    def expire(self, name: str, version: str | None, at: float | None) -> Manifest:
        """`at` is Unix time in seconds; None: never."""
        return self._changed(replace(self.get(name, version), expires=at))

    # -- what is on its way

    def begin(self, upload: str, manifest: Manifest) -> Manifest:
        """An upload of this id, or the one that is there already: then its schema must be the same. What it has got so far
        is in its parts. Raises Conflict."""
        folder = self._uploads / _plain(upload)
        with self._lock:
            if folder.exists():
                there = self.upload(upload)
                if (there.name, there.schema, there.owner) != (manifest.name, manifest.schema, manifest.owner):
                    raise Conflict(
                        f"upload {upload} brings {there.name} with another schema: begin one with an id of its own"
                    )
                return there
            folder.mkdir()
            _written(folder / _MANIFEST, to_json(manifest))
            return manifest

    def upload(self, upload: str, owner: str | None = None) -> Manifest:
        """Raises NotFound, also where it is there and not `owner`'s."""
        manifest = _read(self.folder(upload) / _MANIFEST)
        if manifest is None:
            raise NotFound(f"there is no upload {upload} here: it was committed, given up, or never begun")
        if owner not in (None, manifest.owner):
            raise NotFound(f"there is no upload {upload} of yours here")
        return manifest

    def folder(self, upload: str) -> Path:
        return self._uploads / _plain(upload)

    def add(self, upload: str, index: int, file: Path, rows: int) -> Manifest:
        """`file` becomes part `index` of the upload. Raises Full, and Conflict when another stream went on with it."""
        with self._lock:
            manifest = self.upload(upload)
            if len(manifest.parts) != index:
                raise Conflict(f"another stream went on with upload {upload}: this one is too late")
            part = Part(f"part-{index:05d}.arrow", rows, file.stat().st_size)
            self.make_room(part.size)  # a part at a time: the whole tree is looked through
            file.rename(self.folder(upload) / part.file)
            done = manifest.with_part(part)
            _written(self.folder(upload) / _MANIFEST, to_json(done))
            return done

    def commit(self, upload: str, name: str, rows: int, owner: str) -> Manifest:
        """The upload becomes the current version of `name`, if all of its rows are here. Done twice it answers the same.
        Raises Conflict and NotFound."""
        with self._lock:
            version = _version_of(upload)
            with suppress(NotFound):
                done = self.get(name, version)
                with suppress(NotFound):  # what was sent once more, since the first answer was lost
                    self.give_up(upload, owner)
                return done
            manifest = self.upload(upload, owner)
            if name != manifest.name:
                raise Conflict(f"upload {upload} was begun for {manifest.name}, not for {name}")
            if rows != manifest.rows:
                raise Conflict(f"{rows} rows were sent and {manifest.rows} arrived: go on from row {manifest.rows}")
            newest = max((each.created for each in self._of(name)), default=0.0)
            # Last is last, even where the clock was set back meanwhile.
            done = replace(manifest, version=version, created=max(self._now(), newest + 1e-6))
            folder = self._versions_of(name)
            folder.mkdir(parents=True, exist_ok=True)
            for part in manifest.parts:
                _synced(self._uploads / upload / part.file)
            _written(self._uploads / upload / _MANIFEST, to_json(done))
            (self._uploads / upload).rename(folder / version)
            _synced(folder)
            return done

    def give_up(self, upload: str, owner: str) -> None:
        with self._lock:
            self.upload(upload, owner)
            shutil.rmtree(self.folder(upload))

    # -- room

    def used(self) -> int:
        """Bytes of all parts, of uploads too."""
        return sum(file.stat().st_size for file in self.root.rglob("part-*") if file.exists())

    def make_room(self, wanted: int) -> None:
        """Removes what has expired and what can be read again, oldest first, until `wanted` bytes fit. Raises Full."""
        if self._quota is None:
            return
        with self._lock:
            missing = self.used() + wanted - self._quota
            for manifest in self._removable():
                if missing <= 0:
                    return
                self._remove(manifest)
                missing -= manifest.size
        if missing > 0:
            raise Full(
                f"{wanted} bytes more do not fit into the quota of {self._quota}: delete datasets or raise the quota"
            )

    def collect(self) -> list[str]:
        """Removes what has expired, and uploads that were abandoned; says which."""
        gone = []
        with self._lock:
            for manifest in list(self.versions()):
                if not manifest.pinned and manifest.expired(self._now()):
                    self._remove(manifest)
                    gone.append(f"{manifest.name}@{manifest.version}")
            for folder in self._uploads.iterdir():
                if folder.stat().st_mtime + ABANDONED < self._now():
                    shutil.rmtree(folder)
                    gone.append(f"upload {folder.name}")
        return gone

    def _removable(self) -> list[Manifest]:
        now = self._now()
        loose = [each for each in self.versions() if not each.pinned]
        expired = [each for each in loose if each.expired(now)]
        again = [each for each in loose if each.source and each not in expired]
        return expired + sorted(again, key=_age)

    def _versions_of(self, name: str) -> Path:
        return self._datasets / checked_name(name) / "@"

    def _of(self, name: str) -> list[Manifest]:
        read = (_read(file) for file in sorted(self._versions_of(name).glob(f"*/{_MANIFEST}")))
        return [manifest for manifest in read if manifest is not None]

    def _changed(self, manifest: Manifest) -> Manifest:
        with self._lock:
            _written(self._versions_of(manifest.name) / manifest.version / _MANIFEST, to_json(manifest))
            return manifest

    def _remove(self, manifest: Manifest) -> None:
        folder = self._versions_of(manifest.name)
        with suppress(FileNotFoundError):
            shutil.rmtree(folder / manifest.version)
        for place in (folder, *folder.parents):  # the folders of a/b/c, as far as nothing else lies in them
            if place == self._datasets or any(place.iterdir()):
                return
            place.rmdir()


def new_upload() -> str:
    """An id that no other upload has."""
    return f"{time.time_ns():016x}-{secrets.token_hex(6)}"


def _age(manifest: Manifest) -> float:
    return manifest.created


def _read(file: Path) -> Manifest | None:
    """None where it is not there, or was removed while we look."""
    try:
        return from_json(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _version_of(upload: str) -> str:
    """A version is named after its upload: who commits twice because an answer was lost gets the same one."""
    return f"v{upload}"


def _plain(name: object) -> str:
    if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").isalnum() or len(name) > 80:
        raise NotFound(f"{str(name)[:90]!r} is no version and no upload")
    return name


def _written(path: Path, data: bytes) -> None:
    """Whole or not at all, and on the disk."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
