"""What pip is configured with. uv does not read that, and a machine behind a mirror is usually told so in pip's words.

Source: pip documentation, "Configuration": environment first, then the files from the user's to the machine's.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Mapping
from pathlib import Path

MACHINE = Path("/etc/pip.conf")
_SECTIONS = ("install", "global")


def setting(name: str, env: Mapping[str, str]) -> str | None:
    """`find-links`, `index-url` …: the value as it is written; None where pip has none."""
    from_env = env.get("PIP_" + name.upper().replace("-", "_"))
    if from_env:
        return from_env
    for file in _files(env):
        config = configparser.RawConfigParser(strict=False)
        try:
            config.read_string(file.read_text())
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        for section in _SECTIONS:
            if value := config.get(section, name, fallback=None):
                return value
    return None


def _files(env: Mapping[str, str]) -> Iterator[Path]:
    if named := env.get("PIP_CONFIG_FILE"):
        yield Path(named)
    home = env.get("HOME")
    if home:
        yield Path(env.get("XDG_CONFIG_HOME") or Path(home, ".config")) / "pip" / "pip.conf"
        yield Path(home, "Library", "Application Support", "pip", "pip.conf")
        yield Path(home, ".pip", "pip.conf")
    for folder in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"):
        yield Path(folder) / "pip" / "pip.conf"
    yield MACHINE
