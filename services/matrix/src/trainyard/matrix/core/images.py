"""What the matrix knows of an image."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    name: str
    framework: str
    version: Version | None
    """Of the framework; None where there is none (`host`)."""
    accelerators: tuple[str, ...]
    """Kinds that it can use: `cpu`, `gpu`, …; the first is what it was made for."""
    stack: str = ""
    """What it was compiled against: `cuda`, `rocm`, `cann` …; empty: nothing, or nobody said."""
    stack_version: str = ""
    natives: str = ""
    """Compute capabilities of its kernels, `8.0,9.0`; empty: the facts of the framework's own wheels count."""
    ptx: str = ""
    features: tuple[str, ...] = ()
    """What it brings beyond its framework, such as `flash-attention`."""
    reference: str | None = None
    """The container with its digest."""
    obstacle: str = ""
    """Why it cannot be made on a machine, in words; empty: it can."""

    def describe(self) -> str:
        version = f" {self.version}" if self.version else ""
        stack = f", {self.stack} {self.stack_version}".rstrip() if self.stack else ""
        return f"{self.name} ({self.framework}{version}{stack}, {'/'.join(self.accelerators)})"

    @property
    def cuda(self) -> str:
        """`12.6` of an image for CUDA 12.6.3, `13.0` of one that says just 13; empty for others."""
        if self.stack != "cuda" or not self.stack_version:
            return ""
        return ".".join([*self.stack_version.split("."), "0"][:2])


BUILT_IN = (
    Image("host", "generic", None, ("cpu",)),
    Image("noop", "generic", None, ("cpu",)),
)
"""`host` is the launcher's own interpreter; `noop` starts nothing, for benchmarks of the pipeline."""
