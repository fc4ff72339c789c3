"""Which template a name means. Pure.

What somebody has published under a name goes before what ships with Trainyard under it, however new that is: an upgrade
never changes what people use. By its version each of them can be had.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainyard.common.contract.explain import nearest
from trainyard.common.contract.templates import StoredTemplate, order
from trainyard.common.contract.views import TemplateSummary, TemplateView
from trainyard.common.errors import NotFound


def of_name(known: Sequence[StoredTemplate], name: str) -> list[StoredTemplate]:
    """The versions of a name, the one that it means first. A published one hides a built-in of the same version."""
    found = {item.template.version: item for item in known if item.built_in and item.template.name == name}
    found |= {item.template.version: item for item in known if not item.built_in and item.template.name == name}
    return sorted(found.values(), key=lambda item: (not item.built_in, order(item.template.version)), reverse=True)


def choose(known: Sequence[StoredTemplate], name: str, version: str | None = None) -> StoredTemplate:
    """Raises NotFound that names what is near."""
    versions = of_name(known, name)
    if not versions:
        names = sorted({item.template.name for item in known})
        raise NotFound(f"there is no template {name!r}: {nearest(name, names)}")
    if version is None:
        return versions[0]
    for item in versions:
        if item.template.version == version:
            return item
    there = ", ".join(item.template.version for item in versions)
    raise NotFound(f"template {name} has no version {version!r}: there are {there}")


def summary(item: StoredTemplate, known: Sequence[StoredTemplate]) -> TemplateSummary:
    template = item.template
    return TemplateSummary(
        name=template.name,
        version=template.version,
        framework=template.framework,
        task=template.task,
        title=template.title.model_dump(),
        description=template.description.model_dump(),
        built_in=item.built_in,
        owner=item.owner or None,
        published_at=item.published_at or None,
        versions=[other.template.version for other in of_name(known, template.name)],
    )


def view(item: StoredTemplate, known: Sequence[StoredTemplate]) -> TemplateView:
    document = item.template.model_dump(mode="json", exclude_none=True)
    return TemplateView(
        **summary(item, known).model_dump(),
        parameters=document["parameters"],
        limits=document["limits"],
        job=document["job"],
    )
