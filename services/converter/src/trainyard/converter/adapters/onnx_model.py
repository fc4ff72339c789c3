"""Reading an ONNX model: its signature, its operators, and what it computes under onnxruntime.

Checking a model and folding its constants may crash, take for ever or all of the memory: of a model that has not been proven
this is done in the sandbox (`adapters.check`), and in the process of the server only after that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

from trainyard.converter.adapters import onnx_files
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.ladder import Limits, portable
from trainyard.converter.core.triton import Tensor
from trainyard.converter.ports import ExportFault
from trainyard.converter.workers.graphs import graphs
from trainyard.converter.workers.onnx_file import outside
from trainyard.converter.workers.runtime_errors import told

_DTYPES = {
    TensorProto.DOUBLE: "float64", TensorProto.FLOAT: "float32", TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16", TensorProto.INT64: "int64", TensorProto.INT32: "int32", TensorProto.INT16: "int16",
    TensorProto.INT8: "int8", TensorProto.UINT8: "uint8", TensorProto.BOOL: "bool",
}  # fmt: skip

_OWN = {"": "", "ai.onnx": "", "ai.onnx.ml": "ai.onnx.ml"}


@dataclass(frozen=True, slots=True)
class Signature:
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    opset: int
    ir_version: int
    operators: Mapping[str, int]


def read(path: Path, limits: Limits) -> Signature:
    """Checks the model by ONNX's own rules and the runtime's limits. Raises ExportFault."""
    try:
        model = onnx.load(path, load_external_data=False)
        strange = unknown_operators(model)
        if strange:
            raise ExportFault(f"the exporter left operators that ONNX does not have: {', '.join(strange)}")
        onnx_files.confined(path, model)
        _check(path, model)
    except (MemoryError, ExportFault):
        raise
    except Exception as error:  # those of protobuf, of the checker and of its inference have no common class but this
        raise ExportFault(f"the exporter wrote an invalid model: {told(error)}") from error
    opset = max((item.version for item in model.opset_import if item.domain in {"", "ai.onnx"}), default=0)
    if opset > limits.opset:
        raise ExportFault(f"the exporter wrote opset {opset}, the runtime takes {limits.opset}")
    layout = min(limits.ir_version, portable().ir_version) if opset <= portable().opset else limits.ir_version
    if model.ir_version > layout:
        # The IR version says how the file is laid out; what is in this one was there before.
        model.ir_version = layout
        onnx.save(model, path)
        _check(path, model)
    initializers = {item.name for item in model.graph.initializer}
    return Signature(
        tuple(_tensor(item) for item in model.graph.input if item.name not in initializers),
        tuple(_tensor(item) for item in model.graph.output),
        opset,
        model.ir_version,
        dict(Counter(f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in model.graph.node)),
    )


def _check(path: Path, model: onnx.ModelProto) -> None:
    """With what lies beside it, if anything does: the checker looks for that from a path only."""
    onnx.checker.check_model(str(path) if outside(model) else model, full_check=True)


def unknown_operators(model: onnx.ModelProto) -> list[str]:
    """Those of ONNX's own domains that no operator set has, each once, with a node. Domains of others are the runtime's."""
    own = {function.name for function in model.functions}
    found: dict[str, str] = {}
    for graph in graphs(model.graph):
        for node in graph.node:
            if (
                node.domain in _OWN
                and node.op_type not in own
                and not onnx.defs.has(node.op_type, domain=_OWN[node.domain])
            ):
                found.setdefault(
                    node.op_type, f"{node.op_type} (node {(node.name or ''.join(node.output[:1]))[:100]!r})"
                )
    return list(found.values())


def fixed_batch(signature: Signature, batched: set[str]) -> list[str]:
    """Inputs and outputs whose first dimension should be free and is a constant."""
    tensors = [item for item in signature.inputs if item.name in batched]
    # An output follows the batch when the inputs do; a true constant output shows at the second batch size.
    return [item.name for item in tensors if item.shape and item.shape[0] != -1]


class Runtime:
    """One onnxruntime session on the CPU."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class but Exception
            raise ExportFault(f"onnxruntime {onnxruntime.__version__} refuses the model: {told(error)}") from error
        self.inputs = [item.name for item in self._session.get_inputs()]
        self.outputs = [item.name for item in self._session.get_outputs()]

    def run(self, inputs: Case) -> dict[str, Array]:
        """Raises ExportFault with the runtime's first line, which names the node."""
        try:
            found = self._session.run(None, {name: inputs[name] for name in self.inputs})
        except Exception as error:
            raise ExportFault(f"onnxruntime fails at it: {told(error)}") from error
        return {name: np.asarray(value) for name, value in zip(self.outputs, found, strict=True)}


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    kind = value.type.tensor_type
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim)
    return Tensor(value.name, _DTYPES.get(kind.elem_type, TensorProto.DataType.Name(kind.elem_type).lower()), shape)
