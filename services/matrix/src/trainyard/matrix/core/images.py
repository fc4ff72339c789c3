"""What the matrix knows of an image."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    framework: str
    version: Version | None
    """Of the framework; None where there is none (`host`)."""
    accelerators: tuple[str, ...]
    """Kinds that it can use: `cpu`, `gpu`, …; the first is what it was made for."""

    def describe(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"{self.name} ({self.framework}{version}, {'/'.join(self.accelerators)})"


BUILT_IN = (
    Image("host", "generic", None, ("cpu",)),
    Image("noop", "generic", None, ("cpu",)),
)
"""`host` is the launcher's own interpreter; `noop` starts nothing, for benchmarks of the pipeline."""
