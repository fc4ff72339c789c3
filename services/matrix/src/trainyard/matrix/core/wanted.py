"""Which images a job means: by name, framework, version, features and kind of accelerator, one rule a row.

A rule answers with the set of images that it lets through, most of them straight from the catalogue's index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainyard.common.contract.explain import nearest
from trainyard.matrix.core import changes
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.rules import Question
from trainyard.matrix.core.wishes import Wish


@dataclass(frozen=True, slots=True)
class ImageRule:
    name: str
    applies: Callable[[Wish], bool]
    keeps: Callable[[Question], int]
    """The set of images that it lets through."""
    wish: Callable[[Question], str]
    """What was asked for, to complete "no image …"."""
    changes: Callable[[Question, Sequence[Image]], list[str]]
    """What to write instead, nearest first, given all that it dropped, newest first."""


def _brings(question: Question) -> int:
    """The features that the framework's release or the image must have."""
    bits = question.catalogue.every
    for name in question.wish.features:
        bits &= question.catalogue.with_feature(name)
    return bits


def _has_version(question: Question) -> int:
    wish, catalogue = question.wish, question.catalogue
    if wish.image is None:
        return catalogue.of_version(wish.framework, wish.version)
    named = catalogue.members(catalogue.by_name.get(wish.image, 0))
    return sum(catalogue.of_version(image.framework, wish.version) for image in named)


def _on_kinds(question: Question) -> int:
    bits = 0
    for kind in question.wish.kinds or ("cpu",):
        bits |= question.catalogue.by_kind.get(kind, 0)
    return bits


def _without_features(question: Question, dropped: Sequence[Image]) -> list[str]:
    wish, instead = question.wish, list[str]()
    for feature in wish.known_features(question.facts):
        if feature.in_image and feature.instead:
            instead.append(changes.features(wish, [feature.instead]))
        elif feature.framework and str(feature.releases):
            instead.append(f'framework: "{feature.framework}{feature.releases}"')
    has = [changes.features(wish, [], f"{image.name} has {', '.join(image.features) or 'none'}") for image in dropped]
    return instead or has[:3]


def _each(change: Callable[[Question, Image], str]) -> Callable[[Question, Sequence[Image]], list[str]]:
    def of_all(question: Question, dropped: Sequence[Image]) -> list[str]:
        return list(dict.fromkeys(change(question, image) for image in dropped))[:3]

    return of_all


def _other_kinds(question: Question, dropped: Sequence[Image]) -> list[str]:
    """The framework's other releases on this hardware, then its wished releases on other hardware."""
    wish = question.wish
    here = question.catalogue.members(question.catalogue.by_framework.get(wish.framework, 0) & _on_kinds(question))
    releases = [f"framework: {wish.framework}=={image.version}" for image in here if image.version is not None]
    newest = {image.accelerators: image for image in reversed(dropped)}
    others = [
        changes.accelerators(_asking_for(image), why=f"{image.name} runs on {'/'.join(image.accelerators)}")
        for image in newest.values()
    ]
    return list(dict.fromkeys([*(releases if wish.image is None else []), *others]))[:3]


def _here(question: Question, dropped: Sequence[Image]) -> list[str]:
    """The framework's images that can be made, newest first."""
    del dropped
    catalogue = question.catalogue
    here = catalogue.members(catalogue.by_framework.get(question.wish.framework, 0) & catalogue.on_machines)
    asking = question.wish.kinds or ("cpu",)
    return [
        f"image: {image.name}" if set(image.accelerators) & set(asking) else changes.accelerators(_asking_for(image))
        for image in here
    ][:3]


def _asking_for(image: Image) -> str:
    kind = image.accelerators[0]
    return "0" if kind == "cpu" else f"{{{kind}: 1}}"


RULES: tuple[ImageRule, ...] = (
    ImageRule(
        "image",
        applies=lambda wish: wish.image is not None,
        keeps=lambda question: question.catalogue.by_name.get(question.wish.image or "", 0),
        wish=lambda question: f"is named {question.wish.image!r}",
        changes=_each(lambda _, image: f"image: {image.name}"),
    ),
    ImageRule(
        "framework",
        # A job of a framework may ask for a plain interpreter by name and bring its own packages.
        applies=lambda wish: wish.image is None,
        keeps=lambda question: question.catalogue.by_framework.get(question.wish.framework, 0),
        wish=lambda question: f"has {question.wish.framework}",
        changes=_each(lambda _, image: f"framework: {image.framework}"),
    ),
    ImageRule(
        "version",
        applies=lambda wish: wish.version is not None,
        keeps=_has_version,
        wish=lambda question: f"has {question.wish.framework} {question.wish.version}",
        changes=_each(lambda question, image: f"framework: {question.wish.framework}=={image.version}"),
    ),
    ImageRule(
        "features",
        applies=lambda wish: bool(wish.features),
        keeps=_brings,
        wish=lambda question: f"brings {', '.join(question.wish.features)}",
        changes=_without_features,
    ),
    ImageRule(
        "accelerator",
        applies=lambda _: True,
        keeps=_on_kinds,
        wish=lambda question: f"runs on {'/'.join(question.wish.kinds) or 'cpu'}",
        changes=_other_kinds,
    ),
)


ON_MACHINES = ImageRule(
    "machine",
    applies=lambda _: True,
    keeps=lambda question: question.catalogue.on_machines,
    wish=lambda _: "can be made on a machine without containers",
    changes=_here,
)
"""Asked where nothing runs containers."""

IN_CONTAINERS = ImageRule(
    "pinned",
    applies=lambda _: True,
    # What starts nothing needs no container.
    keeps=lambda question: question.catalogue.pinned | question.catalogue.by_name.get("noop", 0),
    wish=lambda _: "was pushed to a registry and pinned by digest",
    changes=_each(lambda _, image: f"yard images pin {image.name} REGISTRY/NAME@sha256:…"),
)
"""Asked where everything is a container."""


def hint(rule: str, question: Question, dropped: Sequence[Image]) -> str:
    """What a mistyped name of an image may have meant, or why an image cannot be made."""
    if rule == "image":
        return f"; {nearest(question.wish.image or '', [image.name for image in dropped])}"
    return f" ({dropped[0].name}: {dropped[0].obstacle})" if rule == ON_MACHINES.name and dropped else ""
