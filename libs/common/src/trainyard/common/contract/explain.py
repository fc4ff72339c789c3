"""Validation errors in a person's words: what is wrong, where, and what would work.

Used wherever a document comes from outside: HTTP bodies, NATS commands, job files in the CLI.
"""

from __future__ import annotations

import difflib
import types
import typing
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from trainyard.common.contract.model import PATTERNS
from trainyard.common.errors import InvalidInput, Problem

M = TypeVar("M", bound=BaseModel)
_LIMIT = 20
_SHAPES = {
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "text",
    "bool_type": "true or false",
}
"""Pydantic's words are Python's; these are YAML's."""


def validate(model: type[M], document: Any) -> M:
    """`document` as a `model`, or InvalidInput with one Problem a fault (the first 20)."""
    if not isinstance(document, dict):
        raise InvalidInput.one(f"a {_noun(model)} is a mapping of fields, not {_shown(document)}")
    try:
        return model.model_validate(document)
    except ValidationError as error:
        # Errors of the tuple that a list is read into repeat themselves for unions; one a place is enough.
        problems: dict[str, Problem] = {}
        for fault in error.errors(include_url=False):
            problem = _problem(model, fault)
            problems.setdefault(problem.where or problem.what, problem)
        raise InvalidInput(list(problems.values())[:_LIMIT]) from error


def nearest(word: str, known: list[str]) -> str:
    """`did you mean 'replicas'?`, or the list of what is known when nothing is near."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(sorted(known))}"


def _problem(model: type[BaseModel], fault: Any) -> Problem:
    where = ".".join(str(part) for part in fault["loc"] if not _is_union_tag(part))
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        name = str(fault["loc"][-1])
        owner = _model_at(model, fault["loc"][:-1])
        hint = nearest(name, list(owner.model_fields)) if owner else ""
        return Problem("there is no such field", where, hint)
    if kind == "missing":
        return Problem("this field is required", where)
    if kind == "literal_error":
        return Problem(f"{_shown(fault['input'])} is not known", where, f"one of {context['expected']}")
    if kind == "string_pattern_mismatch":
        hint = PATTERNS.get(context["pattern"], f"must match {context['pattern']}")
        return Problem(f"{_shown(fault['input'])} does not fit", where, hint)
    if kind == "string_too_long" or (kind == "too_long" and isinstance(fault["input"], str)):
        shown = _shown(fault["input"])
        return Problem(f"{shown} is too long: at most {context['max_length']} characters", where)
    if kind in _SHAPES:
        return Problem(f"must be {_SHAPES[kind]}, not {_shown(fault['input'])}", where)
    if kind == "value_error":
        return Problem(str(context.get("error", fault["msg"])), where)
    return Problem(f"{fault['msg'][:1].lower()}{fault['msg'][1:]}, not {_shown(fault['input'])}", where)


def _is_union_tag(part: int | str) -> bool:
    """Pydantic puts the tried member of a union into the path: `literal['batch']`, `function-before[…]`, `int`."""
    return isinstance(part, str) and ("[" in part or part in {"str", "int", "constrained-int", "constrained-str"})


def _model_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    current: Any = model
    inside_collection = False
    for part in loc:
        if inside_collection:  # this part is a key or an index
            inside_collection = False
        elif not _is_union_tag(part):
            field = current.model_fields.get(str(part))
            if field is None:
                return None
            current = _inner_model(field.annotation)
            if current is None:
                return None
            inside_collection = _is_collection(field.annotation)
    return current if issubclass(current, BaseModel) else None


def _is_collection(annotation: Any) -> bool:
    if get_origin(annotation) in {typing.Union, types.UnionType, typing.Annotated}:
        return any(_is_collection(argument) for argument in get_args(annotation))
    return get_origin(annotation) in {dict, tuple, list}


def _inner_model(annotation: Any) -> Any:
    """The model inside of `Annotated[…]`, `X | None`, `dict[str, X]` or `tuple[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {typing.Union, types.UnionType, dict, tuple, list, typing.Annotated}:
        for argument in get_args(annotation):
            found = _inner_model(argument)
            if found is not None:
                return found
    return None


def _noun(model: type[BaseModel]) -> str:
    return {"JobSpec": "job", "ConversionSpec": "conversion", "Template": "template"}.get(model.__name__, "document")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
