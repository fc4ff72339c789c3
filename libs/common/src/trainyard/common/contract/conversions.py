"""What a person asks of the converter, as a job's `convert:` block or on its own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trainyard.common.contract.model import IMPORT_PATH, TENSOR_NAME, DnsLabel, Spec, Text

Dtype = Literal[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"
]
Target = Literal["onnx", "triton"]


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


class ConvertSpec(Spec):
    """A trained model on its way to ONNX and Triton. Paths are relative to the job's output folder."""

    name: DnsLabel | None = None
    """The model's name in the repository; absent: the job's name."""
    to: tuple[Target, ...] = ("onnx", "triton")
    model: Annotated[Text, Field(pattern=IMPORT_PATH, max_length=200)]
    """`module:factory`, importable from the job's workdir; called without arguments it gives the untrained model."""
    weights: Annotated[Text, Field(max_length=1024)] = "model.pt"
    """The trained parameters (a state dict; loaded without unpickling code)."""
    inputs: Annotated[tuple[TensorSpec, ...], Field(min_length=1, max_length=64)]
    outputs: Annotated[tuple[TensorSpec, ...], Field(max_length=64)] = ()
    samples: Annotated[Text, Field(max_length=1024)] | None = None
    """A `.npz` of held-out inputs by name (and `labels`), used for the proof beside generated inputs."""
    batch_sizes: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=1, max_length=16)] = (1, 2, 7, 32)
    opset: Annotated[int, Field(ge=7, le=30)] | None = None
    """Absent: the newest that the serving runtime is known to take."""
    tolerance: Tolerance | None = None
    """Absent: by dtype, for a whole network."""
    labels: tuple[Annotated[str, Field(max_length=200)], ...] = ()
    """Class names, by index."""


class ConversionSpec(Spec):
    """A conversion on its own: the same block, with where the code and the files are."""

    framework: Literal["pytorch"] = "pytorch"
    image: Annotated[str, Field(max_length=200)] | None = None
    workdir: Annotated[Text, Field(max_length=4096)]
    """Absolute; where `model` is imported from."""
    artifacts: Annotated[Text, Field(max_length=4096)]
    """Absolute; what `weights` and `samples` are relative to."""
    convert: ConvertSpec
