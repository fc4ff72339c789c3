"""From what was filled in to a job file, purely; and every fault told by its parameter."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract.explain import validate
from trainyard.common.contract.templates import JobLimits, Template
from trainyard.common.errors import InvalidInput
from trainyard.job_api.core.rendering import Rendered, render

PARAMETERS: dict[str, Any] = {
    "name": {"type": "string", "default": "a", "help": "h"},
    "lr": {"type": "float", "default": 0.1, "minimum": 0, "help": "h"},
    "epochs": {"type": "int", "help": "h"},
    "text": {"type": "string", "default": "x", "help": "h"},
    "fast": {"type": "boolean", "default": False, "help": "h"},
    "workers": {"type": "int", "default": {"measure": "data-workers"}, "help": "h"},
    "processes": {"type": "int", "default": 2, "help": "h"},
    "memory": {"type": "size", "default": "1Gi", "help": "h"},
}
JOB: dict[str, Any] = {
    "name": "${name}",
    "framework": "generic",
    "command": "python t.py --lr ${lr} --text=${text} --fast ${fast} --workers ${workers} ${text} $${HOME}",
    "env": {"EPOCHS": "${epochs}", "FAST": "${fast}", "NOTE": "${epochs} of ${text}", "WORKERS": "${workers}"},
    "processes": "${processes}",
    "resources": {"cpu": 1, "memory": "${memory}"},
}


def template(**changes: Any) -> Template:
    document = {
        "name": "t", "version": "1.0.0", "framework": "generic", "task": "batch", "title": "T", "description": "D",
        "parameters": PARAMETERS, "job": JOB, **changes,
    }  # fmt: skip
    return validate(Template, document)


def made(**given: Any) -> Rendered:
    return render(template(), {"epochs": 3, **given})


def one(job: dict[str, Any], **parameters: Any) -> Template:
    declared = {name: {"help": "h", **fields} for name, fields in parameters.items()}
    return template(parameters=declared, job={"name": "a", "framework": "generic", "command": "true", **job})


def faults(wanted: Template, given: dict[str, Any], *limits: tuple[str, JobLimits]) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        render(wanted, given, limits)
    return {problem.where: f"{problem.what} ({problem.hint})" for problem in caught.value.problems}


def test_types_stay_and_text_is_formatted() -> None:
    document = made().document
    assert document["command"] == ["python", "t.py", "--lr", "0.1", "--text=x", "x", "${HOME}"]
    assert document["env"] == {"EPOCHS": "3", "FAST": "false", "NOTE": "3 of x"}
    assert document["processes"] == 2
    assert document["resources"] == {"cpu": 1, "memory": "1Gi"}
    assert document["labels"] == {"template": "t", "template-version": "1.0.0"}
    assert made().left_out == ("workers",)


@pytest.mark.parametrize("text", ["a b", "'; rm -rf /; '", "x: [1, 2]", "${lr}", "$(id)", "a\nb: c", "{{x}}", "- *id"])
def test_a_value_stays_one_word_whatever_it_looks_like(text: str) -> None:
    rendered = made(text=text)
    assert rendered.spec.command[4:6] == (f"--text={text}", text)
    assert rendered.spec.env["NOTE"] == f"3 of {text}"


def test_an_option_goes_with_its_value() -> None:
    assert made(fast=True, workers=4).spec.command[5:8] == ("--fast", "--workers", "4")
    as_list = one({"command": ["run", "--n", "${n}", "-v", "${v}", "last"]}, n={"type": "int", "default": "auto"},
                  v={"type": "boolean", "default": True})  # fmt: skip
    assert render(as_list, {}).document["command"] == ["run", "-v", "last"]
    assert render(as_list, {"n": 0, "v": False}).document["command"] == ["run", "--n", "0", "last"]


def test_a_whole_command_line_is_split_as_in_a_job_file() -> None:
    wanted = one({"command": "${line}"}, line={"type": "string"})
    assert render(wanted, {"line": "sh -c 'echo one two'"}).spec.command == ("sh", "-c", "echo one two")
    assert faults(wanted, {"line": "echo 'open"}).keys() == {"parameters.line"}


def test_rendering_twice_gives_the_same() -> None:
    assert made(text="a b", lr="0.5") == made(lr=0.5, text="a b")


def test_every_fault_of_the_values_is_told_at_once() -> None:
    found = faults(template(), {"lr": -1, "lrr": 1, "memory": "much"})
    assert found["parameters.lr"] == "-1 is too small (a number of at least 0)"
    assert found["parameters.epochs"] == "this parameter must be filled in (a whole number)"
    assert "did you mean 'lr'?" in found["parameters.lrr"]
    assert "512Mi" in found["parameters.memory"]


@pytest.mark.parametrize(
    ("given", "where", "says"),
    [
        ({"name": "Not A Label"}, "parameters.name", "name is 'Not A Label'"),
        ({"processes": 0}, "parameters.processes", "greater than or equal to 1"),
        ({"processes": 10**6}, "parameters.processes", "processes is 1000000"),
    ],
)
def test_a_fault_of_the_job_is_told_by_its_parameter(given: dict[str, Any], where: str, says: str) -> None:
    assert says in faults(template(), {"epochs": 1, **given})[where]


def test_a_fault_of_the_template_itself_names_the_job() -> None:
    assert "there is no such field" in faults(one({"commnd": "x"}), {})["job.commnd"]
    assert "for generic, its job for pytorch" in faults(one({"framework": "pytorch"}), {})["job.framework"]


LIMITED: dict[str, Any] = {
    "cpu": 1,
    "memory": "512Mi",
    "processes": 1,
    "accelerators": 0,
    "active": "1h",
    "priority": 0,
}


@pytest.mark.parametrize(
    ("job", "limit", "where", "says"),
    [
        ({"processes": "${n}"}, "cpu", "parameters.n", "asks for 2 cores, at most 1 cores (site)"),
        ({"resources": {"memory": "${size}"}}, "memory", "parameters.size", "1.0 GiB, at most 512.0 MiB"),
        ({"replicas": "${n}"}, "processes", "parameters.n", "2 processes, at most 1"),
        ({"resources": {"accelerators": {"count": "${n}"}}}, "accelerators", "parameters.n", "2 accelerators"),
        ({"timeouts": {"active": "${time}"}}, "active", "parameters.time", "2 h 0 m of running"),
        ({"resources": {"accelerators": "${n}"}}, "accelerators", "parameters.n", "2 accelerators, at most 0"),
        ({"resources": {"accelerators": {"gpu": "${n}"}}}, "accelerators", "parameters.n", "2 accelerators, at most 0"),
        ({}, "active", "limits.active", "has no longest run, at most 1 h 0 m"),
        ({"priority": "${n}"}, "priority", "parameters.n", "priority 2"),
        ({"roles": {"w": {"replicas": "${n}"}, "x": {"command": "echo"}}}, "processes", "parameters.n", "3 processes"),
    ],
)
def test_limits_name_what_can_be_lowered(job: dict[str, Any], limit: str, where: str, says: str) -> None:
    known = {
        "n": {"type": "int", "default": 2},
        "size": {"type": "size", "default": "1Gi"},
        "time": {"type": "duration", "default": "2h"},
    }
    used = {name: fields for name, fields in known.items() if f"${{{name}}}" in str(job)}
    limits = validate(JobLimits, {limit: LIMITED[limit]})
    found = faults(one(job, **used), {}, ("site", limits))
    assert says in found[where]
    assert all(problem.startswith("the job ") for problem in found.values())
    render(one(job, **used), {}, [("site", JobLimits())])


def test_the_templates_own_limits_hold_too() -> None:
    wanted = template(limits={"processes": 4})
    render(wanted, {"epochs": 1, "processes": 4})
    assert "limit of template t" in faults(wanted, {"epochs": 1, "processes": 5})["parameters.processes"]


def test_a_relative_workdir_counts_from_the_templates_folder() -> None:
    wanted = one({"workdir": "${workdir}"}, workdir={"type": "string", "default": "../code"})
    at_home = wanted.model_copy(update={"folder": "/srv/templates"})
    assert render(at_home, {}).spec.workdir == "/srv/code"
    assert render(at_home, {"workdir": "/mine"}).spec.workdir == "/mine"
    assert render(wanted, {}).spec.workdir == "../code"
