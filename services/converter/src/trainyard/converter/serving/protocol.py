"""The Open Inference Protocol's messages: JSON, and the binary tensor extension that clients use in practice.

A request is a JSON header and then, in the order of the inputs, the raw little-endian tensors whose size the header
tells; `Inference-Header-Content-Length` says where the header ends. Source: KServe's Open Inference Protocol v2 and
Triton's binary tensor data extension.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.serving.classification import classify
from trainyard.converter.serving.datatypes import (
    MAX_RANK,
    NAMES,
    dtype_of,
    from_raw,
    is_whole,
    name_of,
    shape_of,
    texts,
    to_raw,
)
from trainyard.converter.serving.models import Model


def parse(body: bytes, header_length: str | None) -> tuple[Case, dict[str, Any]]:
    """The inputs by name, and the JSON header. Raises InvalidInput that names the input."""
    split = len(body)
    if header_length is not None:
        if not header_length.isdecimal() or len(header_length) > 12 or int(header_length) > len(body):
            raise InvalidInput.one(
                f"Inference-Header-Content-Length {header_length[:40]!r} does not fit a body of {len(body)} bytes"
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
        size = parameters_of(item).get("binary_data_size")
        if size is None:
            inputs[name] = _from_json(name, dtype, shape, item.get("data"))
        else:
            inputs[name] = _from_body(name, dtype, shape, size, memoryview(body)[offset:])
            offset += int(size)
    if offset != len(body) and header_length is not None:
        raise InvalidInput.one(f"{len(body) - offset} bytes are left behind the last input")
    return inputs, header


def object_of(body: bytes) -> dict[str, Any]:
    """A request without tensors; an empty body is an empty one."""
    try:
        document = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput.one(f"the request is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidInput.one("a request is an object")
    return document


def _described(item: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise InvalidInput.one("every input has a name")
    name = item["name"]
    if "shared_memory_region" in parameters_of(item):
        raise InvalidInput.one(f"input {name!r} lies in shared memory, which is not served here: send it along")
    return name, dtype_of(name, item.get("datatype")), shape_of(name, item.get("shape"))


def _from_body(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], size: Any, rest: memoryview) -> Array:
    if not is_whole(size) or size > len(rest):
        raise InvalidInput.one(f"input {name!r} has binary_data_size {size}, and {len(rest)} bytes are there")
    return from_raw(name, dtype, shape, rest[:size])


_TAKEN = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}
"""Which kinds of JSON values an array of a kind is made from: no strings, no fractions for integers, no nulls."""


def _from_json(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], data: Any) -> Array:
    if data is None:
        raise InvalidInput.one(f"input {name!r} has neither data nor binary_data_size")
    if dtype.kind == "O":
        flat = _flat(data)
        if not all(isinstance(value, str) for value in flat):
            raise InvalidInput.one(f"the data of input {name!r} is not of strings")
        return texts(name, shape, [value.encode() for value in flat])
    try:
        found = np.asarray(data)
        if dtype == np.uint64 and found.dtype == np.float64:  # numpy's choice for what int64 cannot hold
            found = _whole_numbers(np.asarray(data, object))
        if found.size and found.dtype.kind not in _TAKEN[dtype.kind]:
            raise InvalidInput.one(f"the data of input {name!r} is not of numbers that fit {NAMES[dtype]}")
        if found.size and dtype.kind in "iu" and not _within(found, np.iinfo(dtype)):
            raise InvalidInput.one(f"the data of input {name!r} is outside of {NAMES[dtype]}")
        with np.errstate(over="ignore"):  # a number too large for the datatype becomes infinite
            return found.astype(dtype).reshape(shape)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidInput.one(f"the data of input {name!r} does not fit: {error}") from error


def _whole_numbers(found: Array) -> Array:
    """As uint64 where they are; left as they are else, to be refused."""
    if all(is_whole(value) and value < 2**64 for value in found.ravel().tolist()):
        return found.astype(np.uint64)
    return found


def _flat(data: Any) -> list[Any]:
    """Strings come flat or nested as the shape is; no deeper than a shape can be."""
    found: list[Any] = data if isinstance(data, list) else [data]
    for _ in range(MAX_RANK):
        found = [inner for value in found for inner in (value if isinstance(value, list) else [value])]
    return found


def _within(found: Array, bounds: np.iinfo[Any]) -> bool:
    return int(found.min()) >= bounds.min and int(found.max()) <= bounds.max


def parameters_of(item: dict[str, Any]) -> dict[str, Any]:
    found = item.get("parameters")
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInput.one("`parameters` is an object")
    return found


def respond(model: Model, outputs: dict[str, Array], header: dict[str, Any]) -> tuple[bytes, int | None]:
    """The body, and the length of its JSON header where tensors follow it in binary."""
    everything_binary = bool(parameters_of(header).get("binary_data_output"))
    items, blobs = [], []
    for name, parameters in _asked(header, outputs).items():
        array = outputs[name]
        if parameters.get("classification"):
            labels = model.configuration.outputs[name].labels
            batched = model.configuration.max_batch_size > 0
            array = classify(name, array, parameters["classification"], labels, batched=batched)
        item: dict[str, Any] = {"name": name, "datatype": name_of(array), "shape": list(array.shape)}
        if parameters.get("binary_data", everything_binary):
            blobs.append(to_raw(array))
            item["parameters"] = {"binary_data_size": len(blobs[-1])}
        else:
            item["data"] = _to_json(name, array)
        items.append(item)
    document: dict[str, Any] = {"model_name": model.name, "model_version": str(model.version), "outputs": items}
    if header.get("id"):
        document["id"] = header["id"]
    text = json.dumps(document, allow_nan=False).encode()
    return (text + b"".join(blobs), len(text)) if blobs else (text, None)


def _asked(header: dict[str, Any], outputs: dict[str, Array]) -> dict[str, dict[str, Any]]:
    """The outputs to answer with and their parameters, in the order of the model: all, where none are named."""
    asked = header.get("outputs") or [{"name": name} for name in outputs]
    if not isinstance(asked, list) or not all(isinstance(item, dict) for item in asked):
        raise InvalidInput.one("`outputs` is a list of objects with a name")
    found = {}
    for item in asked:
        name = item.get("name")
        if not isinstance(name, str) or name not in outputs:
            raise InvalidInput.one(f"there is no output {name!r}; there are {', '.join(outputs)}")
        found[name] = parameters_of(item)
    return {name: found[name] for name in outputs if name in found}


def _to_json(name: str, array: Array) -> list[Any]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput.one(f"output {name!r} holds NaN or infinity, which JSON lacks: ask for binary_data")
    return list(array.ravel().tolist())
