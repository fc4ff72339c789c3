"""API tokens: made by `yard token`, kept as digests in a file, checked by the HTTP services.

On loopback a request without a token is the local user's. On any other address every request needs one, and a service
with no token to check does not start at all.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from trainyard.common.errors import InvalidInput, NotFound, TrainyardError, Unauthorized
from trainyard.common.runtime.settings import is_loopback

_PREFIX = "yard_"
_RESERVED = "kubernetes/"
"""Owners that a cluster vouches for: its launcher lets them into their own namespace."""


class Tokens:
    """One file: name → digest and date. Only the SHA-256 of a token is kept: it has 256 random bits, so a
    slow hash would add nothing."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._read_at: float | None = None
        self._entries: dict[str, dict[str, str]] = {}

    def names(self) -> dict[str, str]:
        """Name → RFC 3339 date of creation."""
        return {name: entry["created"] for name, entry in self._load().items()}

    def create(self, name: str) -> str:
        """A new token for `name`; shown once, never again. Raises InvalidInput when the name has one already."""
        if not name or len(name) > 63 or not name.isprintable():
            raise InvalidInput.one(f"{name[:70]!r} is no name for a token", hint="1 to 63 printable characters")
        if name.startswith(_RESERVED):
            raise InvalidInput.one(f"{name!r} is no name for a token: {_RESERVED}… owns the jobs of TrainingJobs")
        entries = self._load()
        if name in entries:
            raise InvalidInput.one(f"there is a token {name!r} already", hint=f"yard token revoke {name}")
        token = _PREFIX + secrets.token_urlsafe(32)
        self._save({**entries, name: {"sha256": _digest(token), "created": datetime.now(UTC).isoformat()}})
        return token

    def revoke(self, name: str) -> None:
        entries = self._load()
        if name not in entries:
            raise NotFound(f"there is no token {name!r}")
        self._save({other: entry for other, entry in entries.items() if other != name})

    def owner_of(self, token: str) -> str | None:
        """Whose token this is. Compares every digest in constant time."""
        digest = _digest(token)
        found = None
        for name, entry in self._load().items():
            if hmac.compare_digest(entry["sha256"], digest):
                found = name
        return found

    def caller(self, authorization: str | None, host: str, local_owner: str) -> str:
        """The owner that an `Authorization` header stands for; `host` is where we listen. Raises Unauthorized."""
        if authorization:
            scheme, _, token = authorization.partition(" ")
            owner = self.owner_of(token.strip()) if scheme.lower() == "bearer" else None
            if owner is None:
                raise Unauthorized("the token is not known here: make one with `yard token create NAME`")
            return owner
        if is_loopback(host):
            return local_owner
        raise Unauthorized("a token is needed: send `Authorization: Bearer …` (`yard token create NAME` makes one)")

    def require_for(self, host: str) -> None:
        """Raises TrainyardError when others could reach `host` and no token exists."""
        if not is_loopback(host) and not self._load():
            raise TrainyardError(
                f"{host} can be reached from other machines and there is no token yet: "
                "run `yard token create NAME` first, or listen on 127.0.0.1"
            )

    def _load(self) -> dict[str, dict[str, str]]:
        try:
            changed = self._path.stat().st_mtime
        except FileNotFoundError:
            self._entries, self._read_at = {}, None
            return self._entries
        if changed != self._read_at:
            try:
                self._entries = json.loads(self._path.read_text())
            except ValueError as error:
                raise TrainyardError(f"{self._path} is damaged: {error}; delete it and make the tokens anew") from error
            self._read_at = changed
        return self._entries

    def _save(self, entries: dict[str, dict[str, str]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".tokens-")  # mode 0600
        with os.fdopen(handle, "w") as file:
            json.dump(entries, file, indent=1)
        Path(name).replace(self._path)
        self._read_at = None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
