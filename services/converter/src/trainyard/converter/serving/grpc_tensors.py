"""The tensors of a gRPC request and answer. All of a request's tensors are raw, or none is; answers are raw always.

Source: the protocol's `ModelInferRequest`, and what Triton refuses in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tritonclient.grpc import service_pb2

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.serving.classification import classify
from trainyard.converter.serving.datatypes import BYTES, dtype_of, from_raw, name_of, shape_of, texts, to_raw
from trainyard.converter.serving.models import Model

_CONTENTS = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", BYTES: "bytes_contents",
}  # fmt: skip
"""Datatype → its field of InferTensorContents; FP16 has none, it is raw always."""


def parse(request: Any) -> Case:
    """The inputs by name. Raises InvalidInput that names the input."""
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise InvalidInput.one(
            f"raw_input_contents has {len(raw)} tensors, the request has {len(request.inputs)} inputs"
        )
    inputs: Case = {}
    for index, item in enumerate(request.inputs):
        name = item.name
        if name in inputs:
            raise InvalidInput.one(f"input {name!r} is there twice")
        if "shared_memory_region" in item.parameters:
            raise InvalidInput.one(f"input {name!r} lies in shared memory, which is not served here: send it along")
        dtype, shape = dtype_of(name, item.datatype), shape_of(name, list(item.shape))
        if not raw:
            inputs[name] = _typed(name, item.datatype, dtype, shape, item.contents)
        elif item.HasField("contents"):
            raise InvalidInput.one(f"input {name!r} has `contents`, and raw_input_contents are there as well")
        else:
            inputs[name] = from_raw(name, dtype, shape, raw[index])
    return inputs


def _typed(name: str, datatype: str, dtype: np.dtype[Any], shape: tuple[int, ...], contents: Any) -> Array:
    field = _CONTENTS.get(datatype)
    if field is None:
        raise InvalidInput.one(f"input {name!r} is {datatype}, which has no typed contents: use raw_input_contents")
    others = [item.name for item, _ in contents.ListFields() if item.name != field]
    if others:
        raise InvalidInput.one(f"input {name!r} is {datatype}: its contents are in {field}, not in {others[0]}")
    values = getattr(contents, field)
    if datatype == BYTES:
        return texts(name, shape, list(values))
    if len(values) != math.prod(shape):
        raise InvalidInput.one(
            f"input {name!r} has {len(values)} values in {field}, its shape needs {math.prod(shape)}"
        )
    narrow = dtype.kind in "iu" and dtype.itemsize < 8  # carried in a field of wider integers
    found = np.array(values, np.int64 if narrow else dtype)
    if found.size and narrow:
        bounds = np.iinfo(dtype)
        if int(found.min()) < bounds.min or int(found.max()) > bounds.max:
            raise InvalidInput.one(f"the values of input {name!r} are outside of {datatype}")
    return found.astype(dtype).reshape(shape)


def respond(model: Model, outputs: dict[str, Array], request: Any) -> Any:
    """A ModelInferResponse with the outputs that were asked for, in the order of the model."""
    answer = service_pb2.ModelInferResponse(model_name=model.name, model_version=str(model.version), id=request.id)
    for name, parameters in _asked(request, outputs).items():
        array = outputs[name]
        if "classification" in parameters and parameters["classification"].int64_param:
            batched = model.configuration.max_batch_size > 0
            labels = model.configuration.outputs[name].labels
            array = classify(name, array, parameters["classification"].int64_param, labels, batched=batched)
        answer.outputs.add(name=name, datatype=name_of(array), shape=array.shape)
        answer.raw_output_contents.append(to_raw(array))
    return answer


def _asked(request: Any, outputs: dict[str, Array]) -> dict[str, Any]:
    """Name → parameters; all outputs where none are named."""
    found = {}
    for item in request.outputs:
        if item.name not in outputs:
            raise InvalidInput.one(f"there is no output {item.name!r}; there are {', '.join(outputs)}")
        found[item.name] = item.parameters
    return {name: found.get(name, {}) for name in outputs if name in found or not found}
