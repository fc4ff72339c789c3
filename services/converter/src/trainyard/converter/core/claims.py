"""Where the results of a job lie on this side: a folder, or a claim of a cluster that is mounted here.

What a job on a cluster wrote is told as `pvc://NAMESPACE/CLAIM/PATH`. TRAINYARD_CLAIMS says which claims are mounted where:
`NAMESPACE/CLAIM=FOLDER`, with commas between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainyard.common.errors import InvalidInput

SCHEME = "pvc://"


@dataclass(frozen=True, slots=True)
class Claims:
    folders: Mapping[str, Path] = field(default_factory=dict)
    """`namespace/claim` → where it is mounted."""

    @classmethod
    def read(cls, text: str) -> Claims:
        """Raises InvalidInput."""
        folders = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            claim, equals, folder = item.partition("=")
            if claim.count("/") != 1 or not all(claim.split("/")) or not equals or not folder.startswith("/"):
                raise InvalidInput.one(f"{item!r} is no mounted claim", "TRAINYARD_CLAIMS", "NAMESPACE/CLAIM=/FOLDER")
            folders[claim] = Path(folder)
        return cls(folders)

    def local(self, place: str) -> Path:
        """The folder for a place as events tell it. Raises InvalidInput for a claim that is not mounted here."""
        if not place.startswith(SCHEME):
            return Path(place)
        namespace, _, rest = place.removeprefix(SCHEME).partition("/")
        claim, _, path = rest.partition("/")
        folder = self.folders.get(f"{namespace}/{claim}")
        if folder is None:
            raise InvalidInput.one(
                f"what the job wrote lies in claim {claim} of namespace {namespace}, which is not mounted in the converter",
                "convert",
                f"mount it and set TRAINYARD_CLAIMS={namespace}/{claim}=/FOLDER",
            )
        if ".." in Path(path).parts:
            raise InvalidInput.one(f"{place!r} leads out of its claim", "artifacts")
        return folder / path
