"""Changes to the catalogue's files that the CLI makes: a new lock, a pinned digest."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import uv

from trainyard.common.errors import TrainyardError
from trainyard.common.images import pins
from trainyard.common.images.uv import environment

_SECTION = re.compile(r"(?m)^\[container\][^\n]*\n")
_OPTIONS = ("--quiet", "--universal", "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links")


def lock(image: Path, *, upgrade: bool = False) -> bool:
    """Writes requirements.lock from requirements.in (and overrides.txt). True when it has changed. Raises TrainyardError.

    The same wherever the clone lies: uv names its files in the lock, so it is started beside them.
    """
    wishes, target, overrides = image / "requirements.in", image / "requirements.lock", image / "overrides.txt"
    if not wishes.exists():
        raise TrainyardError(f"{wishes} is missing: write the packages of the image into it, one a line")
    before = target.read_text() if target.exists() else ""
    command = [
        *(uv.find_uv_bin(), "pip", "compile", *_OPTIONS, "--python-version", "3.11", wishes.name),
        *(("--overrides", overrides.name) if overrides.exists() else ()),
        *(("--upgrade",) if upgrade else ()),
        *("--output-file", target.name),
    ]
    env = {**environment(os.environ), "UV_CUSTOM_COMPILE_COMMAND": f"yard images lock {image.name}"}
    done = subprocess.run(command, cwd=image, env=env, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise TrainyardError(f"{wishes} cannot be locked: {' '.join(done.stderr.split())[-400:]}")
    return target.read_text() != before


def pin(image: Path, pushed: str) -> None:
    """Writes where the container image was pushed, by digest, into image.toml. Raises InvalidInput."""
    reference, digest = pins.parse(pushed)
    file = image / "image.toml"
    text = re.sub(r"(?m)^(reference|digest) = .*\n", "", file.read_text())
    lines = f'reference = "{reference}"\ndigest = "{digest}"\n'
    text, found_section = _SECTION.subn(lambda section: f"{section[0]}{lines}", text, count=1)
    if not found_section:
        text = f"{text.rstrip()}\n\n[container]\n{lines}"
    tomllib.loads(text)  # a catalogue that cannot be read stops every service that reads it
    file.write_text(text)
