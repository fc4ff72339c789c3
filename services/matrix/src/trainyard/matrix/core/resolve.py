"""From a job's wishes to one image, or to a refusal that names what would work. Pure.

Each rule takes the images that are left and says why it kept or dropped them; the reasons are the answer to "why this
image?" and "why none?". When a rule leaves nothing, the images that it dropped last were the nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from trainyard.common.contract.events import Reason, Resolution
from trainyard.common.contract.explain import nearest
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.core.images import Image


@dataclass(frozen=True, slots=True)
class Rejection:
    message: str
    nearest: tuple[str, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    applies: Callable[[JobSpec], bool]
    keeps: Callable[[JobSpec, Image], bool]
    wish: Callable[[JobSpec], str]
    """What was asked for, to complete "no image …"."""
    change: Callable[[JobSpec, Image], str]
    """What to write instead to get this image."""


def resolve(spec: JobSpec, images: Sequence[Image]) -> Resolution | Rejection:
    """Image and accelerator for a job, with the reasoning either way."""
    faulty = _faulty_version(spec)
    if faulty is not None:
        return faulty
    left, reasons = list(images), list[Reason]()
    for rule in RULES:
        if not rule.applies(spec):
            continue
        kept = [image for image in left if rule.keeps(spec, image)]
        dropped = [image for image in left if image not in kept]
        text = f"{rule.wish(spec)}: {', '.join(image.name for image in kept) or 'none'}"
        reasons.append(Reason(rule=rule.name, text=text, passed=bool(kept)))
        if not kept:
            return _reject(spec, rule, dropped, reasons)
        left = kept
    best = max(left, key=_preference)
    reasons.append(Reason(rule="choice", text=f"newest of what is left: {best.describe()}"))
    return Resolution(
        image=best.name,
        framework_version=str(best.version) if best.version else None,
        accelerator=_accelerator(spec),
        reasons=tuple(reasons),
    )


def _reject(spec: JobSpec, rule: Rule, dropped: list[Image], reasons: list[Reason]) -> Rejection:
    known = sorted(dropped, key=_preference, reverse=True)[:3]
    hint = ""
    if rule.name == "image":
        hint = f"; {nearest(spec.image or '', [image.name for image in dropped])}"
    return Rejection(
        message=f"no image {rule.wish(spec)}{hint}",
        nearest=tuple(rule.change(spec, image) for image in known),
        reasons=tuple(reasons),
    )


def _preference(image: Image) -> tuple[bool, object, str]:
    # `noop` is never chosen, only asked for: it comes after everything without being a rule of its own.
    return (image.name != "noop", image.version.release if image.version else (), image.name)


def _accelerator(spec: JobSpec) -> str:
    asked = [role.resources.accelerators for role in spec.all_roles().values()]
    return next((request.kind for request in asked if request.count), "cpu")


def _asking_for(image: Image) -> str:
    kind = image.accelerators[0]
    return "none" if kind == "cpu" else f"{{count: 1, kind: {kind}}}"


def _specifier(spec: JobSpec) -> SpecifierSet:
    """`2.1` alone means that very release and its patches."""
    text = spec.framework.version or ""
    if text[:1].isdigit():
        text = f"=={text}.*" if text.count(".") < 2 else f"=={text}"
    return SpecifierSet(text)


def _faulty_version(spec: JobSpec) -> Rejection | None:
    try:
        _specifier(spec)
    except InvalidSpecifier:
        text = f"framework.version {spec.framework.version!r} is not a version specifier"
        return Rejection(text, ('write ">=2.1,<3" or "2.1"',), (Reason(rule="version", text=text, passed=False),))
    return None


RULES: tuple[Rule, ...] = (
    Rule(
        "image",
        applies=lambda spec: spec.image is not None,
        keeps=lambda spec, image: image.name == spec.image,
        wish=lambda spec: f"is named {spec.image!r}",
        change=lambda _, image: f"image: {image.name}",
    ),
    Rule(
        "framework",
        # A job of a framework may ask for a plain interpreter by name and bring its own packages.
        applies=lambda spec: spec.image is None,
        keeps=lambda spec, image: image.framework == spec.framework.name,
        wish=lambda spec: f"has {spec.framework.name}",
        change=lambda _, image: f"framework: {image.framework}",
    ),
    Rule(
        "version",
        applies=lambda spec: spec.framework.version is not None,
        keeps=lambda spec, image: image.version is not None and image.version in _specifier(spec),
        wish=lambda spec: f"has {spec.framework.name} {spec.framework.version}",
        change=lambda spec, image: f"framework: {spec.framework.name}=={image.version}",
    ),
    Rule(
        "accelerator",
        applies=lambda _: True,
        keeps=lambda spec, image: _accelerator(spec) in image.accelerators,
        wish=lambda spec: f"runs on {_accelerator(spec)}",
        change=lambda _, image: (
            f"resources.accelerators: {_asking_for(image)} ({image.name} runs on {'/'.join(image.accelerators)})"
        ),
    ),
)
