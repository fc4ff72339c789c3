"""Where container images were pushed, told beside the catalogue: a file that lays references over `image.toml`.

A clone writes them into the catalogue (`yard images pin`). On a cluster the catalogue comes with the services' image, and
what was pushed to which registry is the cluster's own: the file of TRAINYARD_IMAGE_PINS, YAML.

    pytorch-cpu: registry.example.com/pytorch-cpu@sha256:…
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from trainyard.common.errors import InvalidInput
from trainyard.common.images.catalogue import Recipe

VARIABLE = "TRAINYARD_IMAGE_PINS"
_DIGEST = re.compile(r"(?P<reference>[^@\s]+)@(?P<digest>sha256:[0-9a-f]{64})")


def parse(pushed: object) -> tuple[str, str]:
    """Reference and digest. Raises InvalidInput."""
    found = _DIGEST.fullmatch(pushed) if isinstance(pushed, str) else None
    if found is None:
        raise InvalidInput.one(
            f"{pushed!r} has no digest", "reference", "write registry/name@sha256:<64 hexadecimal digits>"
        )
    return found["reference"], found["digest"]


def read(env: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Image → reference and digest; empty where no file is named. Raises InvalidInput that names the fault."""
    named = env.get(VARIABLE)
    if not named:
        return {}
    try:
        document = yaml.safe_load(Path(named).read_text()) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidInput.one(f"{named} cannot be read: {error}", VARIABLE) from error
    if not isinstance(document, dict):
        raise InvalidInput.one(f"{named} is no mapping of images to references", VARIABLE)
    try:
        return {str(name): parse(pushed) for name, pushed in document.items()}
    except InvalidInput as error:
        raise InvalidInput.one(f"{named}: {error}", VARIABLE) from error


def lay_over(recipes: Sequence[Recipe], pins: Mapping[str, tuple[str, str]]) -> list[Recipe]:
    """Raises InvalidInput for an image that the catalogue does not have: a job would wait for it in vain."""
    unknown = sorted(set(pins) - {recipe.name for recipe in recipes})
    if unknown:
        raise InvalidInput.one(f"the catalogue has no image {', '.join(unknown)}", VARIABLE, "`yard images list`")
    return [_pinned(recipe, *pins[recipe.name]) if recipe.name in pins else recipe for recipe in recipes]


def _pinned(recipe: Recipe, reference: str, digest: str) -> Recipe:
    return replace(recipe, container=replace(recipe.container, reference=reference, digest=digest))
