"""From a template and what was filled in to a job file. Pure.

Every fault is told at once and names the parameter: first those of single values, then those of the job that comes out,
then the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from trainyard.common.contract.explain import nearest, validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.parameters import AUTO, Measure, Value, expected, value_of
from trainyard.common.contract.templates import JobLimits, Template
from trainyard.common.errors import InvalidInput, Problem
from trainyard.job_api.core import limits as bounds
from trainyard.job_api.core.substitution import Substitution


@dataclass(frozen=True, slots=True)
class Rendered:
    spec: JobSpec
    document: dict[str, Any]
    """The job file: what the template says, and nothing that is a default anyway."""
    values: dict[str, Value]
    left_out: tuple[str, ...]


def render(template: Template, given: Mapping[str, Any], limits: Sequence[tuple[str, JobLimits]] = ()) -> Rendered:
    """`limits`: those beside the template's own. Raises InvalidInput."""
    values = _values(template, given)
    made = Substitution(template.parameters, values)
    document = _completed(template, made.document(template.job))
    try:
        spec = validate(JobSpec, document)
    except InvalidInput as error:
        raise InvalidInput([_told(problem, made, values) for problem in error.problems]) from error
    if spec.framework.name != template.framework:
        raise InvalidInput.one(
            f"the template is for {template.framework}, its job for {spec.framework.name}", "job.framework"
        )
    own = (f"limit of template {template.name}", template.limits)
    beyond = bounds.faults(spec, made, (own, *limits))
    if beyond:
        raise InvalidInput(beyond)
    left_out = tuple(name for name, value in values.items() if value == AUTO and template.parameters[name].may_be_auto)
    return Rendered(spec, document, values, left_out)


def _values(template: Template, given: Mapping[str, Any]) -> dict[str, Value]:
    problems = [
        Problem("there is no such parameter", f"parameters.{name}", nearest(name, list(template.parameters)))
        for name in given
        if name not in template.parameters
    ]
    values: dict[str, Value] = {}
    for name, parameter in template.parameters.items():
        value = given.get(name)
        if value is None:
            value = AUTO if isinstance(parameter.default, Measure) else parameter.default
        if value is None:
            problems.append(Problem("this parameter must be filled in", f"parameters.{name}", expected(parameter)))
            continue
        try:
            values[name] = value_of(parameter, value)
        except ValueError as error:
            problems.append(Problem(str(error), f"parameters.{name}", expected(parameter)))
    if problems:
        raise InvalidInput(problems)
    return values


def _completed(template: Template, document: dict[str, Any]) -> dict[str, Any]:
    """With the folder that a relative workdir counts from, and labels that tell which template it was."""
    workdir = document.get("workdir")
    if isinstance(workdir, str) and template.folder and not PurePosixPath(workdir).is_absolute():
        document["workdir"] = _normal(PurePosixPath(template.folder) / workdir)
    labels = document.get("labels", {})
    if isinstance(labels, dict):
        document["labels"] = {**labels, "template": template.name, "template-version": template.version}
    return document


def _normal(path: PurePosixPath) -> str:
    """Without `..`, as far as text can tell; a link on the way is the launcher's to follow."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1] if len(parts) > 1 else parts
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))


def _told(problem: Problem, made: Substitution, values: Mapping[str, Value]) -> Problem:
    """A fault of the job as one of the parameter that made it, where there is one."""
    names = made.of(tuple(problem.where.split("."))) if problem.where else []
    if not names:
        return Problem(problem.what, f"job.{problem.where}".rstrip("."), problem.hint)
    shown = ", ".join(f"{name} is {values[name]!r}" for name in names)
    return Problem(
        f"{problem.what} ({shown}; it makes the job's {problem.where})", f"parameters.{names[0]}", problem.hint
    )
