"""What may be asked about templates, each as a plain function, over HTTP and as NATS commands alike.

A published version never changes: publishing the same once more finds it, publishing another under its number is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainyard.common.bus.port import Request
from trainyard.common.clock import rfc3339
from trainyard.common.contract.commands import DeleteTemplate, PublishTemplate, RenderTemplate
from trainyard.common.contract.explain import validate
from trainyard.common.contract.templates import JobLimits, StoredTemplate, Template
from trainyard.common.contract.views import RenderedView, TemplatePage, TemplateView
from trainyard.common.errors import Conflict
from trainyard.job_api.core import versions
from trainyard.job_api.core.rendering import render as rendered
from trainyard.job_api.gateway import Gateway

CREATED, OK = 201, 200


async def listing(gateway: Gateway) -> TemplatePage:
    """One entry a name: the version that it means."""
    known = await gateway.templates.all()
    names = sorted({item.template.name for item in known})
    return TemplatePage(templates=[versions.summary(versions.choose(known, name), known) for name in names])


async def find(gateway: Gateway, name: str, version: str | None = None) -> TemplateView:
    known = await gateway.templates.all()
    return versions.view(versions.choose(known, name, version), known)


async def publish(gateway: Gateway, document: Any, owner: str) -> tuple[int, TemplateView]:
    """201; 200 for the very same once more. Raises InvalidInput, or Conflict for other content under the same version."""
    template = validate(Template, document)
    _try(template)
    stored = StoredTemplate(template=template, owner=owner, published_at=rfc3339(gateway.clock.now()))
    known = await gateway.templates.all()
    for item in versions.of_name(known, template.name):
        if item.template.version == template.version:
            if _content(item.template) == _content(template):
                return OK, versions.view(item, known)
            whose = "ships with Trainyard" if item.built_in else f"was published by {item.owner}"
            raise Conflict(
                f"template {template.name} {template.version} {whose} with other content, and a version never changes: "
                "publish it under a higher version"
            )
    await gateway.templates.add(stored)
    return CREATED, versions.view(stored, [*known, stored])


async def delete(gateway: Gateway, name: str, version: str | None = None) -> tuple[int, TemplatePage]:
    """A published version, or all of the name's; tells which. Raises NotFound, Conflict for what ships with Trainyard."""
    known = await gateway.templates.all()
    chosen = versions.of_name(known, name) if version is None else []
    mine = [item for item in chosen or [versions.choose(known, name, version)] if not item.built_in]
    if not mine:
        raise Conflict(
            f"template {name} ships with Trainyard and cannot be deleted; publish your own under its name instead"
        )
    for item in mine:
        await gateway.templates.remove(name, item.template.version)
    return OK, TemplatePage(templates=[versions.summary(item, known) for item in mine])


async def render(
    gateway: Gateway, name: str, version: str | None, parameters: Mapping[str, Any]
) -> tuple[int, RenderedView]:
    """A job file that may be submitted. Raises InvalidInput that names the parameters at fault."""
    template = versions.choose(await gateway.templates.all(), name, version).template
    made = rendered(template, parameters, _limits(gateway, name))
    return OK, RenderedView(
        template=name, version=template.version, job=made.document, values=made.values, left_out=list(made.left_out)
    )


async def limits_of(gateway: Gateway, labels: Mapping[str, str]) -> list[tuple[str, JobLimits]]:
    """Those of a job that a template has made, as its labels tell; of a template that is gone the operator's alone."""
    name, version = labels.get("template"), labels.get("template-version")
    if name is None:
        return []
    known = [item.template for item in await gateway.templates.all()]
    own = [item.limits for item in known if (item.name, item.version) == (name, version)]
    return [*((f"limit of template {name}", limit) for limit in own), *_limits(gateway, name)]


def _limits(gateway: Gateway, name: str) -> list[tuple[str, JobLimits]]:
    limits = [("the operator's limit for every template", gateway.limits.site)]
    if name in gateway.limits.templates:
        limits.append((f"the operator's limit for {name}", gateway.limits.templates[name]))
    return limits


def _try(template: Template) -> None:
    """A template whose own defaults give no job helps nobody; its author hears it before anybody else does. Where
    something must be filled in, that is for later to tell."""
    if all(parameter.default is not None for parameter in template.parameters.values()):
        rendered(template, {})


def _content(template: Template) -> dict[str, Any]:
    """What makes a version what it is; where its file lay does not."""
    return template.model_dump(mode="json", exclude={"folder"})


async def on_publish(gateway: Gateway, request: Request, command: PublishTemplate) -> tuple[int, Any]:
    return await publish(gateway, command.template, request.source)


async def on_delete(gateway: Gateway, _: Request, command: DeleteTemplate) -> tuple[int, Any]:
    return await delete(gateway, command.name, command.version)


async def on_render(gateway: Gateway, _: Request, command: RenderTemplate) -> tuple[int, Any]:
    return await render(gateway, command.name, command.version, command.parameters)
