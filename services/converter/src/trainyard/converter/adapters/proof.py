"""One input of a conversion and what the framework computed for it: what a deployment asks a server about, elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters.files import UNREADABLE
from trainyard.converter.core.cases import Array, Case

FILE = "proof.npz"
_CASE, _INPUT, _OUTPUT = "case", "input/", "output/"


@dataclass(frozen=True, slots=True)
class Proof:
    case: str
    """As the report's comparisons name it."""
    inputs: Case
    outputs: dict[str, Array]


def write(folder: Path, proof: Proof) -> None:
    """Strings as numpy's own, so that the file can be read without running code."""
    arrays = {_CASE: np.array(proof.case)}
    arrays |= {_INPUT + name: _plain(array) for name, array in proof.inputs.items()}
    arrays |= {_OUTPUT + name: _plain(array) for name, array in proof.outputs.items()}
    np.savez(folder / FILE, allow_pickle=False, **arrays)


def read(folder: Path) -> Proof:
    """Raises InvalidInput."""
    try:
        with np.load(folder / FILE, allow_pickle=False) as archive:
            arrays = {name: _object(archive[name]) for name in archive.files}
        case = str(arrays[_CASE])
    except UNREADABLE as error:
        raise InvalidInput.one(
            f"{folder} has no input to ask a server about ({FILE}): {error}", "ID", "convert the model again"
        ) from error
    return Proof(case, _named(arrays, _INPUT), _named(arrays, _OUTPUT))


def _named(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _plain(array: Array) -> Array:
    return array.astype(np.str_) if array.dtype.kind == "O" else array


def _object(array: Array) -> Array:
    return array.astype(object) if array.dtype.kind == "U" and array.ndim else array
