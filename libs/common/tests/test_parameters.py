"""What may be filled into a template, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract.explain import validate
from trainyard.common.contract.parameters import Parameter, expected, value_of
from trainyard.common.contract.templates import StoredTemplate, Template, order
from trainyard.common.errors import InvalidInput

TEMPLATE: dict[str, Any] = {
    "name": "t", "version": "1.0.0", "framework": "generic", "task": "batch", "title": "T", "description": "D",
    "parameters": {"n": {"type": "int", "help": "h", "default": 1}},
    "job": {"name": "t", "framework": "generic", "command": "run ${n}"},
}  # fmt: skip


def parameter(**fields: Any) -> Parameter:
    return validate(Parameter, {"help": "h", **fields})


@pytest.mark.parametrize(
    ("fields", "given", "value"),
    [
        ({"type": "int"}, "12", 12),
        ({"type": "int", "minimum": 1, "maximum": 3}, 3, 3),
        ({"type": "float"}, "1e-3", 0.001),
        ({"type": "float"}, 2, 2.0),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, False, False),
        ({"type": "string"}, "a'b; $(x) ${y}", "a'b; $(x) ${y}"),
        ({"type": "choice", "choices": [0, 1, "adam"]}, "1", 1),
        ({"type": "choice", "choices": [0, 1, "adam"]}, "adam", "adam"),
        ({"type": "size", "minimum": "1Gi"}, "2Gi", "2Gi"),
        ({"type": "size"}, "1024", 1024),
        ({"type": "duration", "maximum": "1h"}, "90s", "90s"),
        ({"type": "int", "default": "auto"}, "auto", "auto"),
        ({"type": "int", "default": {"measure": "data-workers"}}, "auto", "auto"),
        ({"type": "int", "default": {"measure": "data-workers"}}, 4, 4),
    ],
)
def test_values_that_do(fields: dict[str, Any], given: Any, value: Any) -> None:
    found = value_of(parameter(**fields), given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("fields", "given", "says"),
    [
        ({"type": "int"}, "1.5", "'1.5' is not a whole number"),
        ({"type": "int"}, True, "True is not a whole number"),
        ({"type": "int"}, 2.0, "not a whole number"),
        ({"type": "int"}, "auto", "'auto' is not a whole number"),
        ({"type": "int", "minimum": 1}, 0, "0 is too small"),
        ({"type": "float", "maximum": 1}, "1.5", "'1.5' is too large"),
        ({"type": "float"}, "nan", "not a number to compute with"),
        ({"type": "boolean"}, 1, "neither true nor false"),
        ({"type": "string"}, 5, "write it in quotes"),
        ({"type": "string", "pattern": "[a-z]+"}, "a1", "'a1' does not fit"),
        ({"type": "string", "pattern": "a|b"}, "ab", "does not fit"),
        ({"type": "string"}, "a\0b", "NUL"),
        ({"type": "string"}, "x" * 5000, "too many"),
        ({"type": "choice", "choices": ["a"]}, "b", "not among the choices"),
        ({"type": "choice", "choices": [1, 0]}, True, "not among the choices"),
        ({"type": "size"}, "2 bytes", "a size is"),
        ({"type": "size", "maximum": "1Gi"}, "2Gi", "too large"),
        ({"type": "duration", "minimum": 60}, "5s", "too small"),
        ({"type": "int"}, [1], "not a single value"),
        ({"type": "int"}, 10**400, "too large"),
        ({"type": "float"}, 10**400, "is not a number"),
        ({"type": "size"}, "9" * 400 + "Gi", "too large"),
        ({"type": "duration"}, "9" * 400, "a duration is"),
    ],
)
def test_values_that_do_not(fields: dict[str, Any], given: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        value_of(parameter(**fields), given)


def test_what_would_work_is_said() -> None:
    assert expected(parameter(type="int", minimum=1, maximum=9, unit="epochs")) == "a whole number from 1 to 9 (epochs)"
    assert expected(parameter(type="choice", choices=["a", "b"])) == "one of a, b"
    assert expected(parameter(type="size", minimum="1Gi", default="auto")).endswith("of at least 1Gi, or auto")


def test_a_hostile_pattern_takes_no_time() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        value_of(parameter(type="string", pattern="(a+)+b"), "a" * 4000)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"type": "choice"}, "need them"),
        ({"type": "int", "choices": [1]}, "need them"),
        ({"type": "int", "pattern": "x"}, "type string"),
        ({"type": "string", "pattern": "("}, "not a regular expression"),
        ({"type": "int", "minimum": 3, "maximum": 2}, "is empty"),
        ({"type": "int", "minimum": 3, "default": 2}, "default: 2 is too small; a whole number of at least 3"),
        ({"type": "int", "default": "auto", "colour": 1}, "no such field"),
    ],
)
def test_a_parameter_that_fits_nothing_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("(", r"\(")):
        parameter(**fields)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": "1.0"}, "MAJOR.MINOR.PATCH"),
        ({"version": "1.0.0+x"}, "MAJOR.MINOR.PATCH"),
        ({"name": "A"}, "lower-case"),
        ({"framework": "torch"}, "not known"),
        ({"job": {"command": "run ${n}", "env": {"${n}": "x"}}}, "a placeholder stands for a value, never for a name"),
        ({"job": {"command": "run ${n} ${m}"}}, "uses ${m}, which is no parameter"),
        ({"job": {"command": "run $${n}"}}, "used nowhere"),
        ({"parameters": {"N": {"type": "int", "help": "h"}}}, "lower-case"),
    ],
)
def test_a_template_that_fits_nothing_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validate(Template, {**TEMPLATE, **changes})
    assert says in str(caught.value)


def test_what_was_stored_is_read_whatever_the_rules_have_become() -> None:
    stored = StoredTemplate(template=validate(Template, TEMPLATE), owner="ann", published_at="2026-01-01T00:00:00Z")
    text = stored.dump().decode().replace("run ${n}", "run ${gone}").replace('"owner"', '"later": 1, "owner"')
    text = text.replace('"type":"int"', '"type":"choice"')
    assert StoredTemplate.parse(text).template.job["command"] == "run ${gone}"


def test_versions_in_order() -> None:
    there = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"]
    assert sorted(["1.10.0", "1.2.0", *there[::-1]], key=order) == [*there, "1.2.0", "1.10.0"]
