"""What was chosen, in the words of the contract: resources and labels of each role, and what works only with limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainyard.common.contract.events import Reason, Resolution, RoleResolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.core import running
from trainyard.matrix.core.hardware import Vendor
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.rules import Question
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target
from trainyard.matrix.core.wishes import Wish

_NOTHING = RoleResolution(accelerator="cpu")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The hardware of one request."""

    question: Question
    place: Target


def resolution(spec: JobSpec, image: Image, chosen: Sequence[Chosen], reasons: Sequence[Reason]) -> Resolution:
    parts = [_part(image, each) for each in chosen]
    of_roles = {role: part for each, part in zip(chosen, parts, strict=True) for role in each.question.wish.roles}
    roles = spec.all_roles()
    return Resolution(
        image=image.name,
        framework_version=str(image.version) if image.version else None,
        **dict(parts[0]),
        roles={role: of_roles.get(role, _NOTHING) for role in roles} if len(roles) > 1 else {},
        reference=image.reference,
        notes=tuple(dict.fromkeys(note for each in chosen for note in _notes(each.question, image, each.place))),
        reasons=tuple(reasons),
    )


def _part(image: Image, chosen: Chosen) -> RoleResolution:
    wish, place = chosen.question.wish, chosen.place
    product, vendors = place.product, chosen.question.facts.hardware.vendors
    vendor = wish.vendor or (vendors.get(product.vendor) if product is not None else _by_stack(image, vendors.values()))
    label = vendor.label if vendor is not None else ""
    return RoleResolution(
        accelerator=product.kind if product is not None else next(iter(wish.kinds), "cpu"),
        product=product.name if product is not None else None,
        resources=_resources(wish, vendor) if wish.kinds else {},
        node_labels={label: place.called} if label and place.called is not None else {},
        visible=(vendor.visible or None) if vendor is not None and wish.kinds else None,
    )


def _by_stack(image: Image, vendors: Iterable[Vendor]) -> Vendor | None:
    return next((vendor for vendor in vendors if image.stack and vendor.stack == image.stack), None)


def _resources(wish: Wish, vendor: Vendor | None) -> dict[str, float]:
    if wish.resource is not None:
        return {wish.resource: wish.count}
    if vendor is None:
        return {}
    share = {vendor.share_resource: round(wish.share * 100)} if wish.share is not None and vendor.share_resource else {}
    return {vendor.resource: wish.count, **share}


def _notes(question: Question, image: Image, place: Target) -> list[str]:
    notes = []
    if running.on_driver(question.facts, image, place.driver) is Fit.LIMITED:
        full = question.facts.drivers[image.cuda].full
        notes.append(
            f"driver {place.driver} runs CUDA {image.cuda} with limits (no compiling of newer PTX); {full} has none"
        )
    if place.product is not None and place.product.capability is None and question.wish.features:
        notes.append(f"nobody has told whether {place.product.name} has {', '.join(question.wish.features)}")
    return notes
