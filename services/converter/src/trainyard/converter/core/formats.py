"""The formats that models come in, and what is known of each. Pure; what a file is, is told from its first bytes.

A row says which worker reads it, in which environment, and what is tried to get it into ONNX. A format that can carry code
(a pickle, a Lambda layer) is read only where the request trusts it, and then in the sandbox like every other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from trainyard.common.contract.conversions import Format
from trainyard.common.errors import InvalidInput
from trainyard.converter.core import unread

NEWEST = 99
OWN = "own"
"""The converter's own interpreter: what reads ONNX is there."""
HEAD = 512
"""Bytes of a file that `told` wants to see."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """Something that writes ONNX."""

    name: str
    words: str
    first: int = 7
    """The oldest operator set that it writes …"""
    last: int = NEWEST
    """… and the newest."""
    tries: tuple[int, ...] = (NEWEST,)
    """Sets to try, in order; what is beyond its reach or the runtime's is taken as the nearest within."""


@dataclass(frozen=True, slots=True)
class Source:
    framework: str
    worker: str
    """Module of `trainyard.converter.workers`."""
    exporters: tuple[Exporter, ...]
    environment: str | None = None
    """Folder of `deploy/converters`, or OWN; None: the image that the model was trained in."""
    code: bool = False
    """Reading it may run code that lies in the file."""
    factory: bool = False
    """It holds weights only: `convert.model` says what builds the model."""
    inputs: bool = False
    """It says itself what goes in; `convert.inputs` may be left out."""


DYNAMO = Exporter("dynamo", "dynamo exporter", first=18, tries=(NEWEST, 18))
"""Source of the first set: torch.onnx documentation. An older set has other decompositions."""
TORCHSCRIPT = Exporter("torchscript", "torchscript exporter", last=20, tries=(17,))
"""Source of the last: torch.onnx._constants."""
REWRITTEN = Exporter("rewritten", "dynamo exporter with operators rewritten", first=18)
"""Last, since its graphs are the largest."""
COPY = Exporter("copy", "taken as it is")
SKL2ONNX = Exporter("skl2onnx", "skl2onnx", first=11, last=23, tries=(NEWEST, 17))
ONNXMLTOOLS = Exporter("onnxmltools", "onnxmltools", first=11, last=15, tries=(NEWEST,))
TF2ONNX = Exporter("tf2onnx", "tf2onnx", first=13, last=18, tries=(NEWEST, 15))
"""Source of the last: tf2onnx.constants.OPSET_TO_IR_VERSION."""
JAX2ONNX = Exporter("jax2onnx", "jax2onnx", first=17, tries=(NEWEST, 21))
PADDLE2ONNX = Exporter("paddle2onnx", "paddle2onnx", first=7, last=19, tries=(NEWEST, 17, 13))
MX2ONNX = Exporter("mx2onnx", "MXNet's own exporter")
MINDSPORE = Exporter("mindspore", "MindSpore's own exporter", first=11, last=11)
CATBOOST = Exporter("catboost", "CatBoost's own exporter", tries=(NEWEST,))

SOURCES: dict[Format, Source] = {
    "torch-state-dict": Source("pytorch", "torch_model", (DYNAMO, TORCHSCRIPT, REWRITTEN), factory=True),
    "safetensors": Source("pytorch", "torch_model", (DYNAMO, TORCHSCRIPT, REWRITTEN), factory=True),
    "torchscript": Source("pytorch", "torch_model", (TORCHSCRIPT,)),
    "torch-export": Source("pytorch", "torch_model", (DYNAMO, REWRITTEN), code=True),
    "onnx": Source("onnx", "onnx_model", (COPY,), OWN, inputs=True),
    "keras": Source("keras", "tensorflow_model", (TF2ONNX,), "tensorflow", inputs=True),
    "keras-h5": Source("keras", "tensorflow_model", (TF2ONNX,), "tensorflow", inputs=True),
    "saved-model": Source("tensorflow", "tensorflow_model", (TF2ONNX,), "tensorflow", inputs=True),
    "frozen-graph": Source("tensorflow", "tensorflow_model", (TF2ONNX,), "tensorflow", inputs=True),
    "tflite": Source("tensorflow", "tflite_model", (TF2ONNX,), "tensorflow", inputs=True),
    "jax": Source("jax", "jax_model", (JAX2ONNX,), "jax", factory=True),
    "paddle-state-dict": Source("paddle", "paddle_layer", (PADDLE2ONNX,), "paddle", factory=True),
    "paddle": Source("paddle", "paddle_model", (PADDLE2ONNX,), "paddle", inputs=True),
    "mxnet": Source("mxnet", "mxnet_model", (MX2ONNX,), "mxnet"),
    "mindspore": Source("mindspore", "mindspore_model", (MINDSPORE,), "mindspore", inputs=True),
    "sklearn": Source("sklearn", "classical", (SKL2ONNX,), "classical", code=True, inputs=True),
    "xgboost": Source("xgboost", "classical", (ONNXMLTOOLS,), "classical", inputs=True),
    "lightgbm": Source("lightgbm", "classical", (ONNXMLTOOLS,), "classical", inputs=True),
    "catboost": Source("catboost", "classical", (CATBOOST,), "classical", inputs=True),
}


def told_folder(name: str, members: Collection[str], named: Format | None = None) -> Format:
    """The format of a folder, by the names in it. Raises InvalidInput."""
    if named not in {None, *FOLDERS}:
        raise InvalidInput.one(f"{name} is a folder, {named} is a file", "convert.weights", "name the file in it")
    if "saved_model.pb" in members:
        return "saved-model"
    unread.refuse_folder(name, members)
    raise InvalidInput.one(
        f"the folder {name} is in no format that is known here", "convert.weights", "a SavedModel is"
    )


def told(
    name: str,
    head: bytes,
    members: Collection[str] = (),
    framework: str | None = None,
    named: Format | None = None,
) -> Format:
    """The format of a file, by its content first. `members`: names in it, where it is a zip archive; `framework`: what it was
    trained with, where somebody knows: arrays alone do not tell; `named`: what somebody says that it is. Raises
    InvalidInput."""
    unread.refuse_content(name, head)
    if named in FOLDERS:
        raise InvalidInput.one(f"{name} is a file, {named} is a folder", "convert.weights", "name the folder")
    if named is not None:
        return named
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    unread.refuse_ending(name, ending)
    found = _by_content(head, members, ending) or _BY_NAME.get(ending)
    if framework == "oneflow" and found == "torch-state-dict":
        unread.refuse_oneflow(name)
    if found == "safetensors" and framework == "jax":
        found = "jax"
    if found is None or (found == "jax" and framework not in {None, "jax"}):
        known = ", ".join(sorted({f".{ending}" for ending in _BY_NAME}))
        raise InvalidInput.one(
            f"{name} is in no format that is known here",
            "convert.weights",
            f"known are {known}; convert.format names one",
        )
    return found


FOLDERS: frozenset[Format] = frozenset({"saved-model"})
_BY_NAME: dict[str, Format] = {
    "pt": "torch-state-dict",
    "pth": "torch-state-dict",
    "pt2": "torch-export",
    "safetensors": "safetensors",
    "onnx": "onnx",
    "keras": "keras",
    "h5": "keras-h5",
    "hdf5": "keras-h5",
    "pb": "frozen-graph",
    "tflite": "tflite",
    "npz": "jax",
    "msgpack": "jax",
    "pdmodel": "paddle",
    "pdparams": "paddle-state-dict",
    "mindir": "mindspore",
    "ckpt": "mindspore",
    "joblib": "sklearn",
    "pkl": "sklearn",
    "ubj": "xgboost",
    "cbm": "catboost",
}


_OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""Of files before PyTorch 1.6, and of checkpoints that end in .ckpt. Source: torch.serialization, MAGIC_NUMBER."""


def _by_content(head: bytes, members: Collection[str], ending: str) -> Format | None:
    inner = {member.partition("/")[2] for member in members}  # archives of torch have one folder at the top
    is_safetensors = head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 2**32
    signs: tuple[tuple[Format, bool], ...] = (
        ("torchscript", "constants.pkl" in inner and any(member.startswith("code/") for member in inner)),
        ("torch-export", "serialized_exported_program.json" in members or "models/model.json" in inner),
        ("keras", "model.weights.h5" in members),
        ("keras-h5", head.startswith(b"\x89HDF\r\n")),
        ("tflite", head[4:8] == b"TFL3"),
        ("torch-state-dict", "data.pkl" in inner or head.startswith(_OLD_TORCH)),
        ("catboost", head.startswith(b"CBM1")),
        ("lightgbm", head.startswith(b"tree\n")),
        ("paddle", head.startswith(b"{") and b'"base_code"' in head),
        ("mxnet", head.startswith(b"{") and b'"nodes"' in head and b'"op"' in head),
        ("mindspore", b"MindSpore" in head[:32]),
        ("xgboost", head.startswith(b"{") and b'"learner"' in head),
        ("safetensors", is_safetensors and ending in {"safetensors", "bin"}),
    )
    return next((found for found, holds in signs if holds), None)
