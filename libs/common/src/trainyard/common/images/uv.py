"""Building a virtual environment with uv: locked requirements by hash, and CPU builds from where they are to be had.

PyTorch's default wheels for Linux on x86-64 are CUDA builds of several gigabytes. Its CPU build is taken, in this order, from
the folders that we, uv or pip are configured with, and from PyTorch's own CPU index (uv knows it as `--torch-backend
cpu`). A CUDA build is never fetched: that it is the only one to be had is told instead.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import uv
from packaging.specifiers import SpecifierSet

from trainyard.common.images.catalogue import Recipe

_TIMEOUT = 3600
_KNOWN = (
    ("No space left", "the disk is full: free some space, images need about 1.5 GB each"),
    (
        "error sending request",
        "the package index cannot be reached: check the network, or set UV_DEFAULT_INDEX to a mirror",
    ),
    ("dns error", "the package index cannot be reached: check the network, or set UV_DEFAULT_INDEX to a mirror"),
    ("no wheels with a matching", "there is no wheel for this Python and machine"),
    ("Hash mismatch", "a package differs from its locked hash: the index serves something else"),
)


class Failed(Exception):
    """One sentence for a person."""


def build(recipe: Recipe, folder: Path, progress: Callable[[str], None]) -> None:
    """An environment in `folder` that can be renamed. Raises Failed."""
    version = platform.python_version()
    if version not in SpecifierSet(recipe.python):
        raise Failed(f"it needs Python {recipe.python}, the services run on {version}")
    progress(f"image {recipe.name}: making the environment")
    _run(["venv", "--quiet", "--relocatable", "--python", sys.executable, str(folder)])
    python = str(folder / "bin" / "python")
    lock = folder / "requirements.lock"
    lock.write_text(recipe.lock)
    progress(f"image {recipe.name}: installing the locked packages")
    _run(["pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(lock)])
    for requirement in recipe.cpu_build:
        progress(f"image {recipe.name}: installing {requirement} (CPU build)")
        _install_cpu_build(python, requirement)


def _install_cpu_build(python: str, requirement: str) -> None:
    install = ["pip", "install", "--quiet", "--python", python, "--no-deps"]
    tried = []
    links = find_links(os.environ)
    if links:
        options = [option for link in links for option in ("--find-links", link)]
        fault = _try([*install, "--no-index", *options, requirement])
        if fault is None:
            _refuse_cuda(python, requirement, f"the one in {', '.join(links)}")
            return
        tried.append(f"{', '.join(links)}: {fault}")
    fault = _try([*install, "--torch-backend", "cpu", requirement])
    if fault is None:
        _refuse_cuda(python, requirement, "the one of the CPU index")
        return
    tried.append(f"PyTorch's CPU index: {fault}")
    if not default_is_cuda():
        fault = _try([*install, requirement])
        if fault is None:
            return
        tried.append(f"default index: {fault}")
    raise Failed(
        f"no CPU build of {requirement} is to be had, and a CUDA build is not taken ({'; '.join(tried)}). "
        "Put the CPU wheel into a folder and set TRAINYARD_FIND_LINKS to it"
    )


def default_is_cuda() -> bool:
    """Whether the public index's wheels of torch for this machine are CUDA builds (Linux on x86-64)."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def _refuse_cuda(python: str, requirement: str, where: str) -> None:
    """Asks the installed build itself, without importing it."""
    name = requirement.split("=", maxsplit=1)[0].split("<", maxsplit=1)[0].split(">", maxsplit=1)[0].strip()
    script = (
        "import importlib.metadata as m, pathlib, sys;"
        f"d = m.distribution({name!r});"
        "needs = [r for r in d.requires or () if r.startswith(('nvidia-', 'cuda-')) and 'extra' not in r];"
        "sys.exit(3 if needs and '+cpu' not in d.version else 0)"
    )
    if subprocess.run([python, "-c", script], check=False, timeout=60).returncode == 3:
        raise Failed(f"{requirement} is only to be had as a CUDA build ({where}); this image is for the CPU")


def find_links(env: Mapping[str, str]) -> list[str]:
    """Folders and pages of wheels that this machine is configured with: ours, uv's, then pip's."""
    for name in ("TRAINYARD_FIND_LINKS", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
        if env.get(name):
            return [item for item in env[name].replace(",", " ").split() if item]
    return []


def _try(arguments: list[str]) -> str | None:
    try:
        _run(arguments)
    except Failed as error:
        return str(error)
    return None


def _run(arguments: list[str]) -> None:
    env = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    try:
        done = subprocess.run(
            [uv.find_uv_bin(), *arguments], capture_output=True, text=True, timeout=_TIMEOUT, check=False, env=env
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"uv did not finish within {_TIMEOUT} s") from error
    if done.returncode != 0:
        raise Failed(_explained(done.stderr))


def _explained(said: str) -> str:
    for mark, sentence in _KNOWN:
        if mark.lower() in said.lower():
            return sentence
    words = [line.strip(" ×╰─▶│├·") for line in said.splitlines() if line.strip()]
    return " ".join(words)[-400:] or "uv failed without a word"
