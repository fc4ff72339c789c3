"""Which images a job means: by name, framework, version, features and kind of accelerator, one rule a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from trainyard.common.contract.explain import nearest
from trainyard.matrix.core import changes
from trainyard.matrix.core.facts import Feature
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.rules import Question, Rule
from trainyard.matrix.core.wishes import specifier


def _brings(question: Question, image: Image) -> bool:
    """The features that the framework's release or the image must have."""
    for name in question.wish.features:
        feature = question.facts.features.get(name)
        if feature is None or feature.in_image:
            if name not in image.features:
                return False
        elif not _framework_has(feature, image):
            return False
    return True


def _framework_has(feature: Feature, image: Image) -> bool:
    if not feature.framework or image.framework != feature.framework or image.version is None:
        return not feature.framework or image.framework == feature.framework or feature.name in image.features
    return image.version in feature.releases


def _without_features(question: Question, dropped: Sequence[Image]) -> list[str]:
    wish, instead = question.wish, list[str]()
    for feature in wish.known_features(question.facts):
        if feature.in_image and feature.instead:
            instead.append(changes.features(wish, [feature.instead]))
        elif feature.framework and str(feature.releases):
            instead.append(f'framework: "{feature.framework}{feature.releases}"')
    has = [changes.features(wish, [], f"{image.name} has {', '.join(image.features) or 'none'}") for image in dropped]
    return instead or has[:3]


@lru_cache(maxsize=4096)
def _has_version(wanted: str | None, image: Image) -> bool:
    return image.version is not None and image.version in specifier(wanted)


def _named(image: Image) -> tuple[bool, object, str]:
    # `noop` is never chosen, only asked for: it comes after everything without being a rule of its own.
    return (image.name != "noop", image.version.release if image.version else (), image.name)


def _each(change: Callable[[Question, Image], str]) -> Callable[[Question, Sequence[Image]], list[str]]:
    def of_all(question: Question, dropped: Sequence[Image]) -> list[str]:
        newest_first = sorted(dropped, key=_named, reverse=True)
        return list(dict.fromkeys(change(question, image) for image in newest_first))[:3]

    return of_all


def _other_kinds(question: Question, dropped: Sequence[Image]) -> list[str]:
    """The framework's other releases on this hardware, then its wished releases on other hardware."""
    wish = question.wish
    here = [
        image
        for image in sorted(question.images, key=_named, reverse=True)
        if image.framework == wish.framework and any(kind in image.accelerators for kind in wish.kinds or ("cpu",))
    ]
    releases = [f"framework: {wish.framework}=={image.version}" for image in here if image.version is not None]
    newest = {image.accelerators: image for image in sorted(dropped, key=_named)}
    others = [
        changes.accelerators(_asking_for(image), why=f"{image.name} runs on {'/'.join(image.accelerators)}")
        for image in newest.values()
    ]
    return list(dict.fromkeys([*(releases if wish.image is None else []), *others]))[:3]


def _asking_for(image: Image) -> str:
    kind = image.accelerators[0]
    return "0" if kind == "cpu" else f"{{{kind}: 1}}"


RULES: tuple[Rule[Image], ...] = (
    Rule(
        "image",
        applies=lambda wish: wish.image is not None,
        keeps=lambda question, image: image.name == question.wish.image,
        wish=lambda question: f"is named {question.wish.image!r}",
        changes=_each(lambda _, image: f"image: {image.name}"),
    ),
    Rule(
        "framework",
        # A job of a framework may ask for a plain interpreter by name and bring its own packages.
        applies=lambda wish: wish.image is None,
        keeps=lambda question, image: image.framework == question.wish.framework,
        wish=lambda question: f"has {question.wish.framework}",
        changes=_each(lambda _, image: f"framework: {image.framework}"),
    ),
    Rule(
        "version",
        applies=lambda wish: wish.version is not None,
        keeps=lambda question, image: _has_version(question.wish.version, image),
        wish=lambda question: f"has {question.wish.framework} {question.wish.version}",
        changes=_each(lambda question, image: f"framework: {question.wish.framework}=={image.version}"),
    ),
    Rule(
        "features",
        applies=lambda wish: bool(wish.features),
        keeps=_brings,
        wish=lambda question: f"brings {', '.join(question.wish.features)}",
        changes=_without_features,
    ),
    Rule(
        "accelerator",
        applies=lambda _: True,
        keeps=lambda question, image: any(kind in image.accelerators for kind in question.wish.kinds or ("cpu",)),
        wish=lambda question: f"runs on {'/'.join(question.wish.kinds) or 'cpu'}",
        changes=_other_kinds,
    ),
)


def hint(rule: str, question: Question, dropped: Sequence[Image]) -> str:
    """What a mistyped name of an image may have meant."""
    return f"; {nearest(question.wish.image or '', [image.name for image in dropped])}" if rule == "image" else ""
