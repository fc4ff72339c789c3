"""The Open Inference Protocol's messages: JSON, and the binary tensor extension that clients use in practice.

A request is a JSON header and then, in the order of the inputs, the raw little-endian tensors whose size the header
tells; `Inference-Header-Content-Length` says where the header ends. Source: KServe's Open Inference Protocol v2 and
Triton's binary tensor data extension.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array, Case

DTYPES = {
    "BOOL": "bool", "UINT8": "uint8", "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64",
    "FP16": "float16", "FP32": "float32", "FP64": "float64",
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}
MAX_ELEMENTS = 2**28


def parse(body: bytes, header_length: str | None) -> tuple[Case, dict[str, Any]]:
    """The inputs by name, and the JSON header. Raises InvalidInput that names the input."""
    split = len(body)
    if header_length is not None:
        if not header_length.isdigit() or int(header_length) > len(body):
            raise InvalidInput.one(
                f"Inference-Header-Content-Length {header_length!r} does not fit a body of {len(body)} bytes"
            )
        split = int(header_length)
    try:
        header = json.loads(body[:split])
    except (ValueError, RecursionError) as error:
        raise InvalidInput.one(f"the request is not JSON: {error}") from error
    if not isinstance(header, dict) or not isinstance(header.get("inputs"), list):
        raise InvalidInput.one("a request has a list `inputs`")
    inputs: Case = {}
    offset = split
    for item in header["inputs"]:
        name, dtype, shape = _described(item)
        if name in inputs:
            raise InvalidInput.one(f"input {name!r} is there twice")
        size = (item.get("parameters") or {}).get("binary_data_size")
        if size is None:
            inputs[name] = _from_json(name, dtype, shape, item.get("data"))
        else:
            inputs[name] = _from_bytes(name, dtype, shape, size, body[offset:])
            offset += int(size)
    if offset != len(body) and header_length is not None:
        raise InvalidInput.one(f"{len(body) - offset} bytes are left behind the last input")
    return inputs, header


def _described(item: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise InvalidInput.one("every input has a name")
    name, datatype, shape = item["name"], item.get("datatype"), item.get("shape")
    if datatype not in DTYPES:
        raise InvalidInput.one(f"input {name!r} has datatype {datatype!r}, served are {', '.join(DTYPES)}")
    if (
        not isinstance(shape, list)
        or len(shape) > 16
        or not all(_whole(dim) for dim in shape)
        or (math.prod(shape) > MAX_ELEMENTS)
    ):
        raise InvalidInput.one(f"input {name!r} has no usable shape: {str(shape)[:80]}")
    return name, np.dtype(DTYPES[datatype]), tuple(shape)


def _whole(dim: Any) -> bool:
    return isinstance(dim, int) and not isinstance(dim, bool) and dim >= 0


def _from_bytes(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], size: Any, rest: bytes) -> Array:
    wanted = math.prod(shape) * dtype.itemsize
    if not isinstance(size, int) or size != wanted:
        raise InvalidInput.one(f"input {name!r} has {size} bytes, its shape and datatype need {wanted}")
    if len(rest) < size:
        raise InvalidInput.one(f"input {name!r} has {size} bytes, only {len(rest)} are there")
    return np.frombuffer(rest[:size], dtype).reshape(shape)


def _from_json(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], data: Any) -> Array:
    if data is None:
        raise InvalidInput.one(f"input {name!r} has neither data nor binary_data_size")
    try:
        return np.asarray(data, dtype).reshape(shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput.one(f"the data of input {name!r} does not fit: {error}") from error


def respond(
    model: str, version: str, outputs: dict[str, Array], header: dict[str, Any], labels: dict[str, list[str]]
) -> tuple[bytes, int | None]:
    """The body, and the length of its JSON header where tensors follow it in binary."""
    asked = header.get("outputs") or [{"name": name} for name in outputs]
    everything_binary = bool((header.get("parameters") or {}).get("binary_data_output"))
    items, blobs = [], []
    for wanted in asked:
        name = wanted.get("name") if isinstance(wanted, dict) else None
        if name not in outputs:
            raise InvalidInput.one(f"there is no output {name!r}; there are {', '.join(outputs)}")
        parameters = wanted.get("parameters") or {}
        array = np.ascontiguousarray(outputs[name])
        top = parameters.get("classification")
        if top:
            items.append(_classification(name, array, int(top), labels.get(name, [])))
            continue
        item: dict[str, Any] = {"name": name, "datatype": NAMES[str(array.dtype)], "shape": list(array.shape)}
        if parameters.get("binary_data", everything_binary):
            blobs.append(array.tobytes())
            item["parameters"] = {"binary_data_size": len(blobs[-1])}
        else:
            item["data"] = array.ravel().tolist()
        items.append(item)
    document: dict[str, Any] = {"model_name": model, "model_version": version, "outputs": items}
    if header.get("id"):
        document["id"] = header["id"]
    text = json.dumps(document).encode()
    return (text + b"".join(blobs), len(text)) if blobs else (text, None)


def _classification(name: str, array: Array, top: int, labels: list[str]) -> dict[str, Any]:
    """Triton's classification extension: `value:index:label`, best first, a row for each of the batch."""
    rows = array.reshape(-1, array.shape[-1])
    order = np.argsort(-rows.astype(np.float64), axis=1)[:, :top]
    words = [
        [f"{row[index]:f}:{index}" + (f":{labels[index]}" if index < len(labels) else "") for index in best]
        for row, best in zip(rows, order, strict=True)
    ]
    return {
        "name": name,
        "datatype": "BYTES",
        "shape": [*array.shape[:-1], order.shape[1]],
        "data": [word for row in words for word in row],
    }
