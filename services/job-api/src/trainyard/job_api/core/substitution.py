"""Values into the places of a job file. Pure; a value can never become structure.

Beside the document it tells which parameters went where, so that a fault of the job can be told as a fault of what
somebody has filled in.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from trainyard.common.contract.parameters import AUTO, Parameter, Value
from trainyard.common.contract.templates import PLACEHOLDER
from trainyard.common.errors import InvalidInput

_OUT = object()
Path = tuple[str, ...]


class Substitution:
    def __init__(self, parameters: Mapping[str, Parameter], values: Mapping[str, Value]) -> None:
        self._values = {
            name: _OUT if value == AUTO and parameters[name].may_be_auto else value for name, value in values.items()
        }
        self.sources: dict[Path, list[str]] = {}
        """Place in the document → the parameters that made it."""

    def document(self, job: Mapping[str, Any]) -> dict[str, Any]:
        made = self._node(dict(job), ())
        assert isinstance(made, dict)  # noqa: S101 - a mapping stays one
        return made

    def of(self, where: Path) -> list[str]:
        """The parameters behind a place: of the place itself, of what is around it, or of what is in it."""
        for length in range(len(where), 0, -1):
            if where[:length] in self.sources:
                return self.sources[where[:length]]
        return self.below(where) if where else []

    def below(self, where: Path) -> list[str]:
        names = [name for path, made in self.sources.items() if path[: len(where)] == where for name in made]
        return list(dict.fromkeys(names))

    def _node(self, node: Any, path: Path) -> Any:
        if path[-1:] == ("command",) and len(path) in {1, 3} and isinstance(node, str | list):
            return self._command(node, path)
        if isinstance(node, dict):
            made = {key: self._node(item, (*path, str(key))) for key, item in node.items()}
            return {key: item for key, item in made.items() if item is not _OUT}
        if isinstance(node, list | tuple):
            found = (self._node(item, (*path, str(index))) for index, item in enumerate(node))
            return [item for item in found if item is not _OUT]
        if isinstance(node, str):
            value = self._scalar(node, path)
            # What a process gets is text, and so are labels; YAML's reader would refuse a bare `true` there.
            as_text = len(path) > 1 and path[-2] in {"env", "labels"} and value is not _OUT
            return text_of(value) if as_text else value
        return node

    def _scalar(self, text: str, path: Path) -> Any:
        """A place that is all of the text keeps its type; `_OUT` when one of its parameters is left out."""
        names = [match.group(1) for match in PLACEHOLDER.finditer(text) if match.group(1) is not None]
        if names:
            self.sources[path] = names
        if any(self._values[name] is _OUT for name in names):
            return _OUT
        if _is_one_place(text):
            return self._values[names[0]]
        return PLACEHOLDER.sub(
            lambda match: "${" if match.group(1) is None else text_of(self._values[match.group(1)]), text
        )

    def _command(self, command: str | list[Any], path: Path) -> Any:
        if isinstance(command, str) and _is_one_place(command.strip()):
            return self._scalar(command.strip(), path)  # a whole command line, which the job file splits
        words = _split(command) if isinstance(command, str) else [str(word) for word in command]
        made: list[str] = []
        for index, word in enumerate(words):
            place = (*path, str(len(made)))
            value = self._scalar(word, place)
            before = words[index - 1] if index else ""
            has_option = before.startswith("-") and not PLACEHOLDER.search(before) and _is_one_place(word)
            if value is not _OUT and not (has_option and isinstance(value, bool)):
                made.append(text_of(value))
                continue
            self.sources.pop(place)
            if has_option and value is not True:
                made.pop()
        return made


def text_of(value: Any) -> str:
    """As a program reads it: `true`, `0.001`, `2Gi`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_one_place(text: str) -> bool:
    match = PLACEHOLDER.fullmatch(text)
    return match is not None and match.group(1) is not None


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InvalidInput.one(f"the command cannot be split into words: {error}", "job.command") from error
