"""What a person asks of the converter, as a job's `convert:` block or on its own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from trainyard.common.contract.model import IMPORT_PATH, TENSOR_NAME, DnsLabel, Spec, Text

Dtype = Literal[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"
]
Target = Literal["onnx", "torch", "torchscript", "openvino", "saved-model", "tflite", "paddle", "tensorrt", "triton"]
Precision = Literal["float16", "bfloat16", "int8", "int8-dynamic"]
Format = Literal[
    "torch-state-dict", "safetensors", "torchscript", "torch-export", "onnx",
    "keras", "keras-h5", "saved-model", "frozen-graph", "tflite", "jax", "paddle", "paddle-state-dict", "mxnet",
    "mindspore",
    "sklearn", "xgboost", "lightgbm", "catboost",
]  # fmt: skip
"""How a model's file is written; what is known of each stands in the converter's table of formats."""

WITHOUT_INPUTS = (".pt", ".pth", ".pt2", ".pdparams", ".ckpt", ".safetensors")
"""How files end that never say what goes into their model: told when a job is submitted, not when it has been trained."""


class TensorSpec(Spec):
    """One input or output of a model."""

    name: Annotated[str, Field(pattern=TENSOR_NAME)]
    dtype: Dtype = "float32"
    shape: Annotated[tuple[Annotated[int, Field(ge=-1, le=2**31)] | Literal["batch"], ...], Field(max_length=8)] = ("batch",)
    """Dimensions; `batch` is the free first one, -1 any other free one."""


class Tolerance(Spec):
    """|a − b| ≤ atol + rtol·|reference|, compared in float64."""

    rtol: Annotated[float, Field(ge=0, le=1)]
    atol: Annotated[float, Field(ge=0)]


Side = Annotated[int, Field(ge=1, le=16384)]
Level = Annotated[float, Field(ge=-1e6, le=1e6)]
Numbers = Annotated[tuple[Annotated[float, Field(ge=-1e12, le=1e12)], ...], Field(min_length=1, max_length=16384)]


class Preprocessing(Spec):
    """What is done to a picture before the model sees it, in the order of these fields; what is served does it itself and
    takes uint8 [batch, height, width, 3], red first."""

    input: Annotated[str, Field(pattern=TENSOR_NAME)]
    resize: tuple[Side, Side] | None = None
    """Height and width; bilinear, as Pillow does it. Absent: pictures come as large as they are wanted."""
    crop: tuple[Side, Side] | None = None
    """Height and width of the middle."""
    channels: Literal["RGB", "BGR"] = "RGB"
    """As the model takes them."""
    scale: Level = 1.0
    """What levels of 0 to 255 are multiplied by, such as 1/255."""
    mean: tuple[Level, Level, Level] = (0.0, 0.0, 0.0)
    """Subtracted after scaling; in the order of `channels`."""
    std: tuple[Level, Level, Level] = (1.0, 1.0, 1.0)
    """Divided by; in the order of `channels`."""
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    """Of the model's input."""

    @field_validator("std")
    @classmethod
    def _divides(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if not all(value):
            raise ValueError("a division by zero")
        return value


class Columns(Spec):
    """What is done to a table before the model sees it: (x · scale − mean) / std, column by column. What is served does it itself
    and takes the numbers as they were measured."""

    input: Annotated[str, Field(pattern=TENSOR_NAME)]
    scale: Level = 1.0
    mean: Numbers = (0.0,)
    """One for each column, which is the last dimension, or one for all."""
    std: Numbers = (1.0,)

    @field_validator("scale", "std")
    @classmethod
    def _divides(cls, value: float | tuple[float, ...]) -> float | tuple[float, ...]:
        if not all(value if isinstance(value, tuple) else (value,)):
            raise ValueError("a division by zero")
        return value


class Postprocessing(Spec):
    """What is done to an output before a client sees it, in the order of these fields; what is served does it itself."""

    output: Annotated[str, Field(pattern=TENSOR_NAME)]
    scale: Numbers = (1.0,)
    """Multiplied by: one number for each of the last dimension, or one for all."""
    shift: Numbers = (0.0,)
    """Added after scaling."""
    activation: Literal["softmax", "sigmoid"] | None = None
    axis: Annotated[int, Field(ge=-8, le=7)] = -1
    """Of the classes, for softmax and `top`."""
    top: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Only so many of the largest are given, as `<output>_scores` and `<output>_indices` (int64), the largest first; 1 is the
    argmax. They take the place of the output."""
    keep: bool = False
    """The model's own output is given as well, as `<output>_raw`."""


class ConvertSpec(Spec):
    """A trained model on its way to ONNX and Triton. Paths are relative to the job's output folder."""

    name: DnsLabel | None = None
    """The model's name in the repository; absent: the job's name."""
    to: tuple[Target, ...] = ("onnx", "triton")
    model: Annotated[Text, Field(pattern=IMPORT_PATH, max_length=200)] | None = None
    """`module:factory`, importable from the job's workdir; called without arguments it gives the untrained model. For formats
    that hold weights only."""
    weights: Annotated[Text, Field(max_length=1024)] = "model.pt"
    """The file or folder that holds the model, or its trained parameters."""
    format: Format | None = None
    """Absent: told from the file."""
    signature: Annotated[Text, Field(max_length=200)] | None = None
    """Of a SavedModel; absent: `serving_default`, or the only one."""
    trust: bool = False
    """Formats that can carry code (pickles) may be read; they are read in a sandbox all the same."""
    inputs: Annotated[tuple[TensorSpec, ...], Field(max_length=64, validate_default=True)] = ()
    """May be left out where the format says what goes in."""
    outputs: Annotated[tuple[TensorSpec, ...], Field(max_length=64)] = ()
    samples: Annotated[Text, Field(max_length=1024)] | None = None
    """A `.npz` of held-out inputs by name (and `labels`), used for the proof beside generated inputs."""
    batch_sizes: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=1, max_length=16)] = (1, 2, 7, 32)
    opset: Annotated[int, Field(ge=7, le=30)] | None = None
    """Absent: the newest that the serving runtime is known to take."""
    tolerance: Tolerance | None = None
    """Absent: by dtype, for a whole network."""
    optimise: bool = False
    """The graph is made smaller where the numbers stay the same."""
    precision: Precision | None = None
    """What is served computes in float16, or in int8: with ranges from the samples, or as each request comes
    (`int8-dynamic`); of bfloat16 are the weights alone. What goes in and comes out stays as it is."""
    preprocessing: Annotated[tuple[Preprocessing, ...], Field(max_length=8)] = ()
    """Pictures among the inputs, one block for each."""
    columns: Annotated[tuple[Columns, ...], Field(max_length=8)] = ()
    """Tables among the inputs, one block for each."""
    postprocessing: Annotated[tuple[Postprocessing, ...], Field(max_length=8)] = ()
    """What is done to outputs, one block for each."""
    labels: tuple[Annotated[str, Field(max_length=200)], ...] = ()
    """Class names, by index."""

    @field_validator("inputs")
    @classmethod
    def _are_said_by_somebody(cls, value: tuple[TensorSpec, ...], info: ValidationInfo) -> tuple[TensorSpec, ...]:
        if not value and str(info.data.get("weights", "")).lower().endswith(WITHOUT_INPUTS):
            raise ValueError("this format does not say what goes into the model: give name, dtype and shape of each input")
        return value

    @field_validator("precision")
    @classmethod
    def _has_ranges(cls, value: Precision | None, info: ValidationInfo) -> Precision | None:
        if value == "int8" and not info.data.get("samples"):
            raise ValueError("int8 takes the range of every tensor from samples: give some (samples), or int8-dynamic")
        return value


class ConversionSpec(Spec):
    """A conversion on its own: the same block, with where the code and the files are."""

    framework: Annotated[str, Field(max_length=100)] | None = None
    """What it was trained with, for people; how it is read follows from its format."""
    image: Annotated[str, Field(max_length=200)] | None = None
    """Where it was trained; absent: a CPU image of its framework."""
    workdir: Annotated[Text, Field(max_length=4096)]
    """Absolute; where `model` is imported from."""
    artifacts: Annotated[Text, Field(max_length=4096)]
    """Absolute; what `weights` and `samples` are relative to."""
    convert: ConvertSpec
