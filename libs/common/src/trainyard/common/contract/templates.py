"""Job templates: a job file with `${parameter}` in it, and what a person may fill in.

A data scientist fills in a form, an engineer publishes the template, an operator sets limits. The gateway renders a
template into a job file (`job_api.core.rendering`); what may stand in a placeholder's place is a value, never YAML. A
published version never changes: whoever renders `name` and `version` again gets the same job file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, ValidationInfo, model_validator

from trainyard.common.contract.explain import nearest
from trainyard.common.contract.frameworks import FrameworkName
from trainyard.common.contract.model import PATTERNS, STORED, Bytes, DnsLabel, Duration, Fact, Spec, Text
from trainyard.common.contract.parameters import Parameter, Words

PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^}]*)\}")
"""`${name}`; `$${` stands for `${` itself."""
_SEMVER = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
_NAME = r"^[a-z][a-z0-9_]{0,39}$"
PATTERNS[_SEMVER] = "MAJOR.MINOR.PATCH such as 1.0.0 or 2.1.0-rc.1"
PATTERNS[_NAME] = "lower-case letters, digits and '_', beginning with a letter, at most 40"

Version = Annotated[str, StringConstraints(pattern=_SEMVER, max_length=64)]
"""A semantic version without build metadata. Source: semver.org 2.0.0."""
ParameterName = Annotated[str, StringConstraints(pattern=_NAME)]


class JobLimits(Spec):
    """The most that one job of a template may ask for, all of its processes together."""

    cpu: Annotated[float, Field(gt=0)] | None = None
    """Cores."""
    memory: Bytes | None = None
    processes: Annotated[int, Field(ge=1)] | None = None
    accelerators: Annotated[int, Field(ge=0)] | None = None
    active: Duration | None = None
    """Longest `timeouts.active`; a job without that has no end and is refused."""
    priority: int | None = None


class OperatorLimits(Spec):
    """What an operator allows, in a file that TRAINYARD_TEMPLATE_LIMITS names."""

    site: JobLimits = JobLimits()
    """For every template."""
    templates: dict[DnsLabel, JobLimits] = {}
    """For single templates, beside the site's."""


class Template(Spec):
    name: DnsLabel
    version: Version
    framework: FrameworkName
    task: DnsLabel
    """What it is for: `image-classification`, `benchmark` …"""
    title: Words
    description: Words
    parameters: Annotated[dict[ParameterName, Parameter], Field(max_length=100)] = {}
    """In the order of the form."""
    limits: JobLimits = JobLimits()
    folder: Annotated[Text, Field(max_length=4096)] | None = None
    """Absolute; what a relative `workdir` counts from. `yard templates publish` gives the file's own folder."""
    job: dict[str, Any]
    """A job file. `${name}` as all of a value keeps the parameter's type, inside of text it is written out. Words of a
    command stay one word; an option (`--flag ${x}`) goes with its value: true leaves the option alone, false and `auto`
    leave both out. `command: ${command}` alone takes a whole command line."""

    @model_validator(mode="after")
    def _places_and_parameters_agree(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        for key in _keys(self.job):
            if any(place.group(1) is not None for place in PLACEHOLDER.finditer(key)):
                raise ValueError(f"the job has a field named {key!r}: a placeholder stands for a value, never for a name")
        used = set(placeholders(self.job))
        for name in sorted(used - set(self.parameters)):
            hint = nearest(name, list(self.parameters)) if self.parameters else "declare it under `parameters`"
            raise ValueError(f"the job uses ${{{name}}}, which is no parameter ({hint}; `$${{` writes a plain `${{`)")
        for name in sorted(set(self.parameters) - used):
            raise ValueError(f"parameter {name} is used nowhere in the job")
        return self


class StoredTemplate(Fact):
    """A published template as the bucket keeps it. Read for ever, like events."""

    template: Template
    owner: str
    published_at: str
    """RFC 3339."""
    built_in: bool = False
    """It ships with Trainyard; such a one is never in the bucket."""


class RenderRequest(Spec):
    version: Version | None = None
    """Absent: the newest."""
    parameters: dict[str, Any] = {}
    """A single value each; null is as good as absent."""


def placeholders(node: Any) -> Iterator[str]:
    """Every name that a part of a job file uses."""
    if isinstance(node, str):
        for match in PLACEHOLDER.finditer(node):
            if match.group(1) is not None:
                yield match.group(1)
    elif isinstance(node, dict | list | tuple):
        for item in node.values() if isinstance(node, dict) else node:
            yield from placeholders(item)


def _keys(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (str(key) for key in node)
    if isinstance(node, dict | list | tuple):
        for item in node.values() if isinstance(node, dict) else node:
            yield from _keys(item)


def order(version: str) -> tuple[Any, ...]:
    """A key that sorts as semver.org 2.0.0 § 11 says: a pre-release before its release, numbers as numbers."""
    release, _, pre = version.partition("-")
    parts = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pre.split(".")] if pre else []
    return (*(int(number) for number in release.split(".")), not pre, parts)
