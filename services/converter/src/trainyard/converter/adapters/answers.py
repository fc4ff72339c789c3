"""What a worker left behind, none of it believed: a model that brings code could have written all of it.

The files have to be files of its own and of a sane size, the answer has to be of its form, and the arrays have to be those
that were asked for. Whatever else there is, is told as one line.
"""

from __future__ import annotations

import signal
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from trainyard.common.errors import Retryable
from trainyard.converter.adapters.files import UNREADABLE, load_arrays
from trainyard.converter.adapters.sandbox import Outcome
from trainyard.converter.core.cases import Array
from trainyard.converter.core.triton import Tensor
from trainyard.converter.ports import ExportFault, ModelFault, NothingToDo

LARGEST_ANSWER = 16 * 2**20
"""Bytes of JSON: names, types and shapes."""
LONGEST = 2000
"""Characters of a fault: the innermost cause of an exporter is long, a flood is longer."""
Count = Annotated[int, Field(ge=0)]


def _shown(name: str) -> str:
    """What a terminal or a page would act on instead of showing it is no name."""
    if not name.isprintable():
        raise PydanticCustomError("shown", "a name that cannot be shown")
    return name


Name = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_shown)]


class _Told(BaseModel):
    model_config = ConfigDict(strict=True)

    fault: Literal["model", "export", "machine", "nothing"] | None = None
    message: str = "without a word"


class Answer(BaseModel):
    """What every answer holds that is no fault."""

    model_config = ConfigDict(strict=True)

    framework: Annotated[str, Field(max_length=200)]


class Write(Answer):
    note: Annotated[str, Field(max_length=200)] = ""


class Described(BaseModel):
    name: Name
    dtype: Name
    shape: Annotated[list[int], Field(max_length=100)]

    def tensor(self) -> Tensor:
        return Tensor(self.name, self.dtype, tuple(self.shape))


class Inspection(Answer):
    inputs: list[Described] | None = None
    outputs: list[Described] | None = None


class Export(Answer):
    parameters: Count
    reference_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output_names: Annotated[list[Name], Field(min_length=1)]
    licence: Annotated[str, Field(max_length=LONGEST)] = ""
    note: Annotated[str, Field(max_length=LONGEST)] = ""


class Named(Answer):
    """Layers, in their order."""

    names: list[Name]


class Check(Answer):
    """Of what was exported, by the runtime that will serve it."""

    opset: Count
    ir_version: Count
    operators: dict[Name, Count]
    inputs: list[Described]
    outputs: Annotated[list[Described], Field(min_length=1)]


Form = TypeVar("Form", bound=Answer)


def told(folder: Path, outcome: Outcome, form: type[Form], what: str = "the model") -> Form:
    """The worker's answer. `what`: what it was at work on. Raises ModelFault, ExportFault or Retryable."""
    if outcome.fault:
        raise ModelFault(f"{what} was ended: {outcome.fault}")
    file = folder / "answer.json"
    if not file.is_symlink() and not file.exists():
        raise _silent(outcome, what)
    own(file)
    if file.stat().st_size > LARGEST_ANSWER:
        raise ModelFault(f"{what} was ended: its answer has {file.stat().st_size} bytes")
    content = file.read_bytes()
    try:
        answered = _Told.model_validate_json(content)
        match answered.fault:
            case "model":
                raise ModelFault(line(answered.message))
            case "export":
                raise ExportFault(line(answered.message))
            case "nothing":
                raise NothingToDo(line(answered.message))
            case "machine":
                raise Retryable(f"the machine failed the export: {line(answered.message)}", delay=30)
        return form.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "shown":
            raise ModelFault(
                f"{what} has {first['msg']}, {line(repr(first['input'])[:200])}: give it another"
            ) from error
        place = ".".join(map(str, first["loc"])) or "JSON"
        raise ModelFault(f"{what} was ended: its answer is none ({line(place)}: {line(first['msg'])})") from error


def _silent(outcome: Outcome, what: str) -> Exception:
    if outcome.code == -signal.SIGXCPU:
        return ModelFault(f"{what} was ended: it used more processor time than it may")
    if outcome.code is not None and outcome.code < 0:
        name = signal.strsignal(-outcome.code) or f"signal {-outcome.code}"
        # There is nothing in its last words that explains it.
        return ExportFault(f"{what} crashes what reads it ({name}), as broken files do")
    last = outcome.output.strip().splitlines()[-1:] or ["without a word"]
    return ExportFault(f"the export ended with code {outcome.code}: {line(last[0][:300])}")


def own(file: Path) -> None:
    """Refuses a link, a pipe or nothing in place of what the worker was to write: a model that runs code might have another
    file published as itself, or have us wait for ever. Raises ModelFault, or ExportFault where there is nothing."""
    try:
        found = file.lstat()
    except FileNotFoundError:
        raise ExportFault(f"the exporter has written no {file.name}") from None
    if stat.S_ISLNK(found.st_mode):
        raise ModelFault(f"the model was ended: it left a link in place of {file.name}")
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise ModelFault(f"the model was ended: what it left as {file.name} is no file of its own")


def arrays(file: Path, cases: Mapping[str, object], names: list[str]) -> dict[str, dict[str, Array]]:
    """Case → name → array: one for each of the names in each of the cases. Raises ModelFault or ExportFault."""
    own(file)
    found: dict[str, dict[str, Array]] = {}
    try:
        for key, array in load_arrays(file).items():
            case, _, name = key.partition("/")
            found.setdefault(case, {})[name] = array
    except UNREADABLE as error:
        raise ModelFault(f"the arrays of {file.name} cannot be read: {line(str(error))}") from error
    lacking = [f"{name!r} of {case}" for case in cases for name in names if name not in found.get(case, {})]
    if lacking:
        raise ModelFault(f"{file.name} lacks the output {line(lacking[0])}")
    return {case: {name: found[case][name] for name in names} for case in cases}


def line(text: str) -> str:
    """One line that can be shown and stored, whatever a model has put into its names."""
    words = " ".join(text.split())[:LONGEST]
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in words)
