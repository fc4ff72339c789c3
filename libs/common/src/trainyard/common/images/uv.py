"""Building a virtual environment with uv: locked requirements by hash, and CPU builds from where they are to be had.

PyTorch's default wheels for Linux are CUDA builds of several gigabytes. Its CPU build is taken, in this order, from the
folders that we, uv or pip are configured with, from PyTorch's own CPU index (uv knows it as `--torch-backend cpu`), and
where the default wheels are CPU builds, from the default index. A CUDA build is never fetched: that it is the only one to
be had is told instead.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import uv
from packaging.specifiers import SpecifierSet

from trainyard.common.images import drivers, pip_settings
from trainyard.common.images.catalogue import Recipe

_TIMEOUT = 3600.0  # seconds for one step
_LOOK = 0.2  # seconds between two looks whether the build is still wanted
_OFFLINE = "the package index cannot be reached: check the network, or set UV_DEFAULT_INDEX to a mirror"
_KNOWN = (
    ("No space left", "the disk is full: free some space, images need about 1.5 GB each"),
    ("error sending request", _OFFLINE),
    ("dns error", _OFFLINE),
    ("Failed to fetch", _OFFLINE),
    ("no wheels with a matching", "there is no wheel for this Python and machine"),
    ("Hash mismatch", "a package differs from its locked hash: the index serves something else"),
)


class Failed(Exception):
    """One sentence for a person."""


@dataclass(frozen=True, slots=True)
class Builder:
    """One build."""

    progress: Callable[[str], None]
    stop: threading.Event
    """Set when the image is not wanted any more."""
    lock: int
    """The descriptor whose lock this build holds. uv keeps it too, so that nobody builds in the same place while a uv
    lives whose caller was killed."""

    def build(self, recipe: Recipe, folder: Path) -> None:
        """An environment in `folder` that can be renamed. Raises Failed."""
        fault = recipe.not_local or drivers.missing(recipe.needs)
        if fault:
            raise Failed(fault)
        self.progress(f"image {recipe.name}: making the environment")
        self._run(["venv", "--quiet", "--relocatable", "--python", interpreter(recipe.python).path, str(folder)])
        python = str(folder / "bin" / "python")
        lock = folder / "requirements.lock"
        lock.write_text(recipe.lock)
        self.progress(f"image {recipe.name}: installing the locked packages")
        # The lock is whole: what is not in it (a framework whose CPU build comes below) must not be added.
        self._run(["pip", "install", "--quiet", "--no-deps", "--python", python, "--require-hashes", "-r", str(lock)])
        for requirement in recipe.cpu_build:
            self.progress(f"image {recipe.name}: installing {requirement} (CPU build)")
            self._install_cpu_build(python, requirement)

    def _install_cpu_build(self, python: str, requirement: str) -> None:
        faults = []
        for where, options in sources(os.environ):
            try:
                # Again from scratch: a build that was refused is still there.
                self._run(
                    ["pip", "install", "--quiet", "--python", python, "--no-deps", "--reinstall", *options, requirement]
                )
                _refuse_cuda(python, requirement)
                return
            except Failed as error:
                faults.append(f"{where}: {error}")
        raise Failed(
            f"no CPU build of {requirement} is to be had, and a CUDA build is not taken ({'; '.join(faults)}). "
            "Put the CPU wheel into a folder and set TRAINYARD_FIND_LINKS to it"
        )

    def _run(self, arguments: list[str]) -> None:
        process = subprocess.Popen(
            [uv.find_uv_bin(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(os.environ),
            pass_fds=(self.lock,),
        )
        deadline = time.monotonic() + _TIMEOUT
        with process:
            while True:
                try:
                    _, said = process.communicate(timeout=_LOOK)
                    break
                except subprocess.TimeoutExpired:
                    if self.stop.is_set() or time.monotonic() > deadline:
                        process.kill()
                        why = "it is not wanted any more" if self.stop.is_set() else f"uv took more than {_TIMEOUT:g} s"
                        raise Failed(why) from None
        if process.returncode != 0:
            raise Failed(_explained(said))


@dataclass(frozen=True, slots=True)
class Interpreter:
    path: str
    version: str


@cache
def interpreter(specifier: str) -> Interpreter:
    """Our own Python where it fits, or else the newest on this machine that does. Raises Failed."""
    own = platform.python_version()
    if own in SpecifierSet(specifier):
        return Interpreter(sys.executable, own)
    command = [uv.find_uv_bin(), "python", "find", "--no-project", "--system", specifier]
    found = subprocess.run(
        command, env=environment(os.environ), capture_output=True, text=True, check=False, timeout=60
    )
    path = found.stdout.strip()
    if found.returncode != 0 or not path:
        raise Failed(f"it needs Python {specifier}, the services run on {own} and no other that fits is installed here")
    asked = subprocess.run(
        [path, "-c", "import platform; print(platform.python_version())"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return Interpreter(path, asked.stdout.strip())


def sources(env: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Where a CPU build may come from, best first: in words, and as uv's options."""
    links = find_links(env)
    found = [(", ".join(links), ["--no-index", *(option for link in links for option in ("--find-links", link))])]
    found = found if links else []
    found.append(("PyTorch's CPU index", ["--torch-backend", "cpu"]))
    if sys.platform != "linux":
        found.append(("the default index", []))
    return found


def find_links(env: Mapping[str, str]) -> list[str]:
    """Folders and pages of wheels that this machine is configured with: ours, uv's, or pip's."""
    text = env.get("TRAINYARD_FIND_LINKS") or env.get("UV_FIND_LINKS") or pip_settings.setting("find-links", env) or ""
    return [item for item in text.replace(",", " ").split() if item]


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """What uv is started with. Where it is told no index, it takes the one that pip would."""
    told = any(env.get(name) for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_CONFIG_FILE"))
    index = None if told else pip_settings.setting("index-url", env)
    return {
        **env,
        **({"UV_DEFAULT_INDEX": index} if index else {}),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }


def _refuse_cuda(python: str, requirement: str) -> None:
    """Asks the installed build itself, without importing it."""
    name = re.split(r"[\s=<>!~\[;]", requirement, maxsplit=1)[0]
    script = (
        "import importlib.metadata as m, sys;"
        f"d = m.distribution({name!r});"
        "needs = [r for r in d.requires or () if r.startswith(('nvidia-', 'cuda-')) and 'extra' not in r];"
        "sys.exit(3 if needs and '+cpu' not in d.version else 0)"
    )
    if subprocess.run([python, "-c", script], check=False, timeout=60).returncode == 3:
        raise Failed("only a CUDA build, and this image is for the CPU")


def _explained(said: str) -> str:
    for mark, sentence in _KNOWN:
        if mark.lower() in said.lower():
            return sentence
    words = [line.strip(" ×╰─▶│├·") for line in said.splitlines() if line.strip()]
    return " ".join(words)[-400:] or "uv failed without a word"
