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
        if not header_length.isdecimal() or int(header_length) > len(body):
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
        size = _parameters(item).get("binary_data_size")
        if size is None:
            inputs[name] = _from_json(name, dtype, shape, item.get("data"))
        else:
            inputs[name] = _from_bytes(name, dtype, shape, size, body[offset:])
            offset += int(size)
    if offset != len(body) and header_length is not None:
        raise InvalidInput.one(f"{len(body) - offset} bytes are left behind the last input")
    return inputs, header


def parameters_of(body: bytes) -> dict[str, Any]:
    """The parameters of a request without tensors; an empty body has none."""
    try:
        document = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput.one(f"the request is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidInput.one("a request is an object")
    return _parameters(document)


def _described(item: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise InvalidInput.one("every input has a name")
    name, datatype, shape = item["name"], item.get("datatype"), item.get("shape")
    if not isinstance(datatype, str) or datatype not in DTYPES:
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
    if not _whole(size) or size != wanted:
        raise InvalidInput.one(f"input {name!r} has {size} bytes, its shape and datatype need {wanted}")
    if len(rest) < size:
        raise InvalidInput.one(f"input {name!r} has {size} bytes, only {len(rest)} are there")
    return np.frombuffer(rest[:size], dtype).reshape(shape)


_TAKEN = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}
"""Which kinds of JSON values an array of a kind is made from: no strings, no fractions for integers, no nulls."""


def _from_json(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], data: Any) -> Array:
    if data is None:
        raise InvalidInput.one(f"input {name!r} has neither data nor binary_data_size")
    try:
        found = np.asarray(data)
        if found.size and found.dtype.kind not in _TAKEN[dtype.kind]:
            raise InvalidInput.one(f"the data of input {name!r} is not of numbers that fit {NAMES[str(dtype)]}")
        if found.size and dtype.kind in "iu" and not _within(found, np.iinfo(dtype)):
            raise InvalidInput.one(f"the data of input {name!r} is outside of {NAMES[str(dtype)]}")
        with np.errstate(over="ignore"):  # a number too large for the datatype becomes infinite
            return found.astype(dtype).reshape(shape)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidInput.one(f"the data of input {name!r} does not fit: {error}") from error


def _within(found: Array, bounds: np.iinfo[Any]) -> bool:
    return int(found.min()) >= bounds.min and int(found.max()) <= bounds.max


def _parameters(item: dict[str, Any]) -> dict[str, Any]:
    found = item.get("parameters")
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInput.one("`parameters` is an object")
    return found


def respond(
    model: str, version: str, outputs: dict[str, Array], header: dict[str, Any], labels: dict[str, list[str]]
) -> tuple[bytes, int | None]:
    """The body, and the length of its JSON header where tensors follow it in binary."""
    everything_binary = bool(_parameters(header).get("binary_data_output"))
    items, blobs = [], []
    for wanted in _asked(header, outputs):
        name, parameters = wanted["name"], _parameters(wanted)
        array = np.ascontiguousarray(outputs[name])
        if parameters.get("classification"):
            items.append(_classification(name, array, parameters["classification"], labels.get(name, [])))
            continue
        item: dict[str, Any] = {"name": name, "datatype": NAMES[str(array.dtype)], "shape": list(array.shape)}
        if parameters.get("binary_data", everything_binary):
            blobs.append(array.tobytes())
            item["parameters"] = {"binary_data_size": len(blobs[-1])}
        else:
            item["data"] = _to_json(name, array)
        items.append(item)
    document: dict[str, Any] = {"model_name": model, "model_version": version, "outputs": items}
    if header.get("id"):
        document["id"] = header["id"]
    text = json.dumps(document, allow_nan=False).encode()
    return (text + b"".join(blobs), len(text)) if blobs else (text, None)


def _asked(header: dict[str, Any], outputs: dict[str, Array]) -> list[dict[str, Any]]:
    asked = header.get("outputs") or [{"name": name} for name in outputs]
    if not isinstance(asked, list) or not all(isinstance(item, dict) for item in asked):
        raise InvalidInput.one("`outputs` is a list of objects with a name")
    for item in asked:
        name = item.get("name")
        if not isinstance(name, str) or name not in outputs:
            raise InvalidInput.one(f"there is no output {name!r}; there are {', '.join(outputs)}")
    return asked


def _to_json(name: str, array: Array) -> list[Any]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput.one(f"output {name!r} holds NaN or infinity, which JSON lacks: ask for binary_data")
    return list(array.ravel().tolist())


def _classification(name: str, array: Array, top: Any, labels: list[str]) -> dict[str, Any]:
    """Triton's classification extension: `value:index:label`, best first, a row for each of the batch."""
    if not _whole(top) or array.ndim == 0:
        raise InvalidInput.one(f"output {name!r} cannot be classified into {top!r} classes")
    rows = array.reshape(-1, array.shape[-1])
    order = np.argsort(-rows.astype(np.float64), axis=1)[:, : int(top)]
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
