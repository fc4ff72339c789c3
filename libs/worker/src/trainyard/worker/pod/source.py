"""The job's folder, where it came as an archive."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path


def unpack(archive: str, folder: str) -> None:
    """Makes the folder, all of it or nothing; one that is there already stays as it is. Raises OSError, BadZipFile."""
    if os.path.isdir(folder):  # noqa: PTH112
        return
    making = f"{folder}.{os.getpid()}"
    try:
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                path = opened.extract(entry, making)
                if entry.external_attr >> 16 & 0o111 and not entry.is_dir():
                    Path(path).chmod(0o755)
        Path(making).mkdir(exist_ok=True)  # an archive may be empty
        Path(making).rename(folder)
    except OSError:
        if not os.path.isdir(folder):  # noqa: PTH112 - otherwise somebody else was faster
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
