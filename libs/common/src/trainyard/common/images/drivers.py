"""Whether this machine has the driver that an image is of no use without."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Driver = Literal["nvidia"]

_SIGNS: dict[Driver, tuple[str, ...]] = {
    # The kernel module's own file; the device that WSL 2 shows instead.
    "nvidia": ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"),
}
_NAMES: dict[Driver, str] = {"nvidia": "NVIDIA's driver"}


def missing(driver: Driver | None, root: Path = Path("/")) -> str | None:
    """Why an image that needs this driver is not built here; None where it is."""
    if driver is None or any((root / sign.lstrip("/")).exists() for sign in _SIGNS[driver]):
        return None
    return f"it needs {_NAMES[driver]}, and this machine has none: ask for no accelerator, or for an image for the CPU"
