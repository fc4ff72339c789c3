"""Job files as text: YAML or JSON, from a person and therefore not to be trusted.

Refused in words: not a mapping, duplicate keys (the last would win silently), an alias that contains itself, documents
that unfold to more than they are worth (a "billion laughs"), and text that is too long.
"""

from __future__ import annotations

import json
import math
from typing import Any

import yaml

from trainyard.common.errors import InvalidInput

MAX_BYTES = 512 * 1024
"""A job file is a page of text; nats-server's default limit of a message is 1 MiB."""
_MAX_NODES = 20_000
_MAX_DEPTH = 40


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                key = str(key)
            if key in seen:
                raise InvalidInput.one(f"{key!r} is written twice", f"line {key_node.start_mark.line + 1}")
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse_yaml(text: bytes | str) -> dict[str, Any]:
    """Raises InvalidInput that names the line."""
    _check_size(text)
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InvalidInput.one(f"not valid YAML: {error.problem or error.context}", line) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput.one(f"not valid YAML: {_one_line(error)}") from error
    return _checked(document)


def parse_json(text: bytes | str) -> dict[str, Any]:
    _check_size(text)
    try:
        document = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise InvalidInput.one(f"not valid JSON: {_one_line(error)}") from error
    return _checked(document)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput.one(f"{twice!r} is written twice")
    return document


def check_size(length: int) -> None:
    if length > MAX_BYTES:
        raise InvalidInput.one(
            f"the document has {length} bytes, at most {MAX_BYTES} are taken", hint="put data into files, not into the job"
        )


def _check_size(text: bytes | str) -> None:
    check_size(len(text))


def _checked(document: Any) -> dict[str, Any]:
    if document is None:
        raise InvalidInput.one("the file is empty")
    if not isinstance(document, dict):
        raise InvalidInput.one(f"a job file is a mapping of fields, not a {type(document).__name__}")
    budget = [_MAX_NODES]
    _walk(document, (), budget)
    return document


def _walk(node: Any, above: tuple[int, ...], budget: list[int]) -> None:
    budget[0] -= 1
    if budget[0] < 0:
        raise InvalidInput.one(f"the document unfolds to more than {_MAX_NODES} values")
    if isinstance(node, str):
        _check_text(node)
    if isinstance(node, float) and not math.isfinite(node):
        raise InvalidInput.one(f"{node} is not a number to compute with", hint="write a finite number, or text in quotes")
    if not isinstance(node, dict | list):
        return
    if id(node) in above:
        raise InvalidInput.one("an alias contains itself", hint="write the value out instead of `*name`")
    if len(above) >= _MAX_DEPTH:
        raise InvalidInput.one(f"nested deeper than {_MAX_DEPTH} levels")
    for key in node if isinstance(node, dict) else ():
        if isinstance(key, str):
            _check_text(key)
    for item in node.values() if isinstance(node, dict) else node:
        _walk(item, (*above, id(node)), budget)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput.one(
            f"{text[max(0, error.start - 20) : error.end + 20]!r} has half a surrogate pair, which is no character",
            hint="write the character itself, or both halves",
        ) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
