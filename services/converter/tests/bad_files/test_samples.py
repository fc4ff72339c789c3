"""Samples that mean harm or are broken: they are read in the converter's own process, so that nothing of them is trusted."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytestmark = pytest.mark.integration


def running(harm: Path) -> bytes:
    """A pickle that runs `touch`."""
    return f"cposix\nsystem\n(S'touch {harm}'\ntR.".encode()


def net(folder: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")


def patched(file: Path, at: int, value: bytes) -> None:
    """Honest samples whose zip says something else of its first member, `at` that place of its directory."""
    np.savez_compressed(file, x=np.zeros((5, 3), np.float32))
    content = bytearray(file.read_bytes())
    place = content.index(b"PK\x01\x02") + at
    content[place : place + len(value)] = value
    file.write_bytes(content)


def pickled(file: Path) -> None:
    member(file, array("(1,)", "'|O'") + running(file.parent / "HARM"))


def bare_pickle(file: Path) -> None:
    file.write_bytes(running(file.parent / "HARM"))


def member(file: Path, content: bytes, name: str = "x.npy") -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)


def array(shape: str, kind: str = "'<f4'") -> bytes:
    """A file of numpy without numbers, whose header says this."""
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def large(file: Path) -> None:
    np.savez(file, x=np.zeros((5, 4), np.float32))


def text(file: Path) -> None:
    np.savez(file, x=np.array([["a", "b", "c"]]))


def one_array(file: Path) -> None:
    with file.open("wb") as stream:
        np.save(stream, np.zeros((5, 3), np.float32))


def linked(file: Path) -> None:
    file.symlink_to(file.parent / "nowhere.npz")


def endless(file: Path) -> None:
    file.symlink_to(file)


def countless(file: Path) -> None:
    """Four hundred thousand entries that all are of one empty member."""
    member = b"PK\x03\x04" + bytes(22) + b"\x01\0\0\0" + b"a"
    directory = (b"PK\x01\x02" + bytes(24) + b"\x01" + bytes(17) + b"a") * 400_000
    end = struct.pack("<HHHHIIH", 0, 0, 65535, 65535, len(directory), len(member), 0)
    file.write_bytes(member + directory + b"PK\x05\x06" + end)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickles in an array": (pickled, "cannot be read as .npz: Object arrays cannot be loaded"),
    "a pickle": (bare_pickle, "cannot be read as .npz: "),
    "a pickle in place of an array": (
        lambda file: member(file, running(file.parent / "HARM")),
        "cannot be read as .npz: 'x' in it is no array",
    ),
    "more than fits, it says": (
        lambda file: patched(file, 24, struct.pack("<I", 3 * 2**30)),
        "unpacks to 3.0 GiB, the most is 2.0 GiB (a few hundred rows prove as much)",
    ),
    "four gigabytes, it says": (lambda file: patched(file, 24, struct.pack("<I", 2**32 - 2)), "unpacks to 4.0 GiB"),
    "less than there is, it says": (lambda file: patched(file, 24, struct.pack("<I", 20)), "cannot be read as .npz"),
    "of a newer zip": (lambda file: patched(file, 6, struct.pack("<H", 90)), "cannot be read as .npz"),
    "encrypted": (lambda file: patched(file, 8, struct.pack("<H", 1)), "cannot be read as .npz"),
    "packed in a way that nobody knows": (
        lambda file: patched(file, 10, struct.pack("<H", 77)),
        "cannot be read as .npz",
    ),
    "countless members": (countless, "has more members than are read (a few hundred rows prove as much)"),
    "half an archive": (
        lambda file: (large(file), file.write_bytes(file.read_bytes()[:150])),
        "cannot be read as .npz",
    ),
    "an array larger than any": (lambda file: member(file, array("(4611686018427387904,)")), "cannot be read as .npz"),
    "an array of less than nothing": (lambda file: member(file, array("(-3,)")), "cannot be read as .npz"),
    "a header that calls": (
        lambda file: member(file, array("(3,)", f"__import__('os').system('touch {file.parent}/HARM')")),
        "cannot be read as .npz",
    ),
    "a header of a thousand brackets": (
        lambda file: member(file, array("(" * 1000 + ")" * 1000)),
        "cannot be read as .npz",
    ),
    "texts for numbers": (text, "the samples of 'x' are <U1, declared is float32"),
    "of another shape": (large, "the samples of 'x' have shape [5, 4], declared is ['batch', 3]"),
    "one array": (one_array, "cannot be read as .npz: it holds one array without a name"),
    "a pipe": (os.mkfifo, "neither a file nor a folder"),
    "a folder": (lambda file: file.mkdir(), "cannot be read as .npz: "),
    "nothing": (lambda file: file.touch(), "cannot be read as .npz"),
    "a link to nowhere": (linked, "there are no samples at"),
    "a link to itself": (endless, "cannot be read"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_bad_samples_are_refused(given: Path, refusal: Any, kind: str) -> None:
    make, words = BAD[kind]
    net(given)
    make(given / "samples.npz")
    assert words in await refusal("net.onnx", samples="samples.npz")


def test_what_harms_is_seen(tmp_path: Path) -> None:
    pickle.loads(running(tmp_path / "HARM"))  # noqa: S301 - our own
    assert (tmp_path / "HARM").exists()
