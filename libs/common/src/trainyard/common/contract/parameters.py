"""Parameters of job templates: what a person may fill in, and whether what was filled in will do.

A value comes from a form, a command line or a file, so text that reads as the declared type is taken. Sizes and durations
stay as they were written (`2Gi`, `15m`), because job files are read by people too. `auto` means: leave it to what runs in
the job, which measures or knows better; the parameter is then not passed at all.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import SchemaError

from trainyard.common.contract import quantities
from trainyard.common.contract.model import STORED, Spec, Text

Value = bool | int | float | str
ParameterType = Literal["int", "float", "string", "boolean", "choice", "size", "duration"]
AUTO = "auto"
MAX_TEXT = 4096
_TRUE, _FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_NOUNS = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "boolean": "true or false",
    "size": "a size such as 512Mi or 2Gi",
    "duration": "a duration such as 90s, 15m or 2h",
}


class _Words(Spec):
    en: Annotated[Text, Field(min_length=1, max_length=2000)]
    zh: Annotated[Text, Field(max_length=2000)] = ""
    """Absent: pages in Chinese show the English one."""


Words = Annotated[
    _Words,
    BeforeValidator(lambda value: {"en": value} if isinstance(value, str) else value, json_schema_input_type=_Words | str),
]
"""A sentence for people, in English and Chinese."""


class Measure(Spec):
    """A default that is found on the machine where the job runs; for a template it is `auto`."""

    measure: Annotated[str, Field(max_length=60)]
    """What is measured, such as `data-workers`."""


class Parameter(Spec):
    type: ParameterType
    title: Words | None = None
    """Beside the field; absent: the parameter's name."""
    help: Words
    default: bool | int | float | str | Measure | None = None
    """Absent: it must be filled in. `auto`: it is not passed unless somebody fills it in."""
    minimum: int | float | str | None = None
    maximum: int | float | str | None = None
    """Both belong to the range; for sizes and durations they may be written as such."""
    pattern: Annotated[str, Field(max_length=500)] | None = None
    """A regular expression that all of the text must match (no look-around, no back references)."""
    choices: Annotated[tuple[str | int | float, ...], Field(max_length=100)] = ()
    unit: Annotated[str, Field(max_length=40)] | None = None
    advanced: bool = False
    """Shown only to those who ask."""

    @property
    def may_be_auto(self) -> bool:
        return self.default == AUTO or isinstance(self.default, Measure)

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        if (self.type == "choice") != bool(self.choices):
            raise ValueError("`choices` belong to parameters of type choice, which need them")
        if self.pattern is not None:
            if self.type != "string":
                raise ValueError("`pattern` belongs to parameters of type string")
            try:
                _matches(self.pattern, "")
            except SchemaError as error:
                raise ValueError(f"pattern {self.pattern!r} is not a regular expression") from error
        low, high = (_number(self.type, bound) for bound in (self.minimum, self.maximum))
        if low is not None and high is not None and low > high:
            raise ValueError(f"the range from {self.minimum} to {self.maximum} is empty")
        if self.default is not None and not self.may_be_auto:
            try:
                value_of(self, self.default)
            except ValueError as error:
                raise ValueError(f"default: {error}; {expected(self)}") from error
        return self


def value_of(parameter: Parameter, given: Any) -> Value:
    """What was filled in, as its type. Raises ValueError with what is wrong; `expected` says what would work."""
    if given == AUTO and parameter.may_be_auto:
        return AUTO
    if not isinstance(given, bool | int | float | str):
        raise ValueError(f"{_shown(given)} is not a single value")
    try:
        value = _READERS[parameter.type](parameter, given)
        number = _number(parameter.type, value)
    except OverflowError:
        raise ValueError(f"{_shown(given)} is too large") from None
    low, high = (_number(parameter.type, bound) for bound in (parameter.minimum, parameter.maximum))
    if number is not None and low is not None and number < low:
        raise ValueError(f"{_shown(given)} is too small")
    if number is not None and high is not None and number > high:
        raise ValueError(f"{_shown(given)} is too large")
    return value


def expected(parameter: Parameter) -> str:
    """`a whole number from 1 to 1000 (epochs), or auto`."""
    if parameter.type == "choice":
        words = "one of " + ", ".join(str(choice) for choice in parameter.choices)
    else:
        words = _NOUNS[parameter.type]
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        words += f" from {low} to {high}"
    elif low is not None or high is not None:
        words += f" of at least {low}" if low is not None else f" of at most {high}"
    if parameter.pattern is not None:
        words += f" that matches {parameter.pattern}"
    if parameter.unit:
        words += f" ({parameter.unit})"
    return words + (", or auto" if parameter.may_be_auto else "")


def _int(_: Parameter, given: Value) -> Value:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", given.strip()):
        return int(given)
    raise ValueError(f"{_shown(given)} is not a whole number")


def _float(_: Parameter, given: Value) -> Value:
    if isinstance(given, bool):
        raise ValueError(f"{_shown(given)} is not a number")
    try:
        number = float(given)
    except (ValueError, OverflowError):
        raise ValueError(f"{_shown(given)} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{_shown(given)} is not a number to compute with")
    return number


def _string(parameter: Parameter, given: Value) -> Value:
    if not isinstance(given, str):
        raise ValueError(f"{_shown(given)} is not text: write it in quotes")
    if len(given) > MAX_TEXT:
        raise ValueError(f"{len(given)} characters are too many, at most {MAX_TEXT}")
    if "\0" in given:
        raise ValueError("a NUL byte cannot be passed to a process")
    if parameter.pattern is not None and not _matches(parameter.pattern, given):
        raise ValueError(f"{_shown(given)} does not fit")
    return given


def _boolean(_: Parameter, given: Value) -> Value:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in _TRUE | _FALSE:
        return given.strip().lower() in _TRUE
    raise ValueError(f"{_shown(given)} is neither true nor false")


def _choice(parameter: Parameter, given: Value) -> Value:
    for choice in parameter.choices:
        if not isinstance(given, bool) and (choice == given or str(choice) == str(given).strip()):
            return choice
    raise ValueError(f"{_shown(given)} is not among the choices")


def _quantity(parameter: Parameter, given: Value) -> Value:
    text = given.strip() if isinstance(given, str) else given
    value: Value = float(text) if isinstance(text, str) and re.fullmatch(r"\d+(\.\d+)?", text) else text
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    _number(parameter.type, value)
    return value


_READERS = {
    "int": _int, "float": _float, "string": _string, "boolean": _boolean, "choice": _choice,
    "size": _quantity, "duration": _quantity,
}  # fmt: skip


def _number(kind: str, value: Any) -> float | None:
    """What ranges compare. None: this type, or this value, has no order."""
    if value is None or kind in {"string", "boolean", "choice"}:
        return None
    if kind == "size":
        return float(quantities.size(value))
    if kind == "duration":
        return quantities.seconds(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{_shown(value)} is not a number")
    return float(value)


def _matches(pattern: str, text: str) -> bool:
    # Pydantic's engine takes linear time, whatever the pattern: a publisher cannot make the gateway hang.
    try:
        TypeAdapter(Annotated[str, StringConstraints(pattern=rf"\A(?:{pattern})\z")]).validate_python(text)
    except ValidationError:
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
