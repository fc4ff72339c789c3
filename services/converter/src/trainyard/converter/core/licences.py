"""What the files beside a model say of its licence: quoted, never guessed. Pure.

A text is named by its own title or by its SPDX line; the terms themselves are not read. What nothing says is `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml

UNKNOWN = "unknown"
TEXTS = ("license", "licence", "copying", "unlicense")
"""How the names of files begin that hold a licence's text."""
CARD = "readme.md"
"""A model card says its licence in YAML between two lines of dashes (Hugging Face, "Model Cards")."""
LONGEST = 200
"""Characters of what is quoted."""
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+() -]+)")
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)


def is_text(name: str) -> bool:
    return name.lower().startswith(TEXTS)


def of_text(text: str) -> str:
    """Its SPDX identifier, else its title and the line below, which often has the version; empty where it has no words."""
    spdx = _SPDX.search(text)
    if spdx:
        return shown(spdx[1])
    lines = [line.strip(" \t#*=-") for line in text.splitlines()]
    title = [line for line in lines if line][:2]
    if len(title) == 2 and not title[1].lower().startswith("version"):
        title = title[:1]
    return shown(", ".join(title))


def of_card(text: str) -> str:
    """Of a model card; empty where it says nothing. `other` is said with the name that it is given there."""
    front = _FRONT.match(text)
    try:
        found = yaml.safe_load(front[1]) if front else None
    except yaml.YAMLError:
        return ""
    if not isinstance(found, dict):
        return ""
    licence = found.get("license")
    if licence == "other" and isinstance(found.get("license_name"), str):
        licence = found["license_name"]
    items = licence if isinstance(licence, list) else [licence]
    return shown(", ".join(item for item in items if isinstance(item, str)))


def of_metadata(metadata: Iterable[tuple[str, str]]) -> str:
    """Of names and values that a format keeps beside the weights."""
    return next((shown(value) for name, value in metadata if name.lower() in {"license", "licence"}), "")


def shown(words: str) -> str:
    """In one line that can be printed."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in words).split())[:LONGEST]
