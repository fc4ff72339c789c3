"""Preprocessing as part of what people are given: written into the graph, and proven from the picture that a client sends to
what the framework makes of it once numpy and Pillow have prepared it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainyard.converter.adapters import check, onnx_files
from trainyard.converter.adapters.onnx_model import Signature
from trainyard.converter.climbing import check_request
from trainyard.converter.core import gate, precision
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.gate import Comparison
from trainyard.converter.ports import Exported, ExportFault, RewriteRequest, Tell
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.record import Record

REWRITE = "rewrites.pictures"
FILE = Path("model.pictures.onnx")
Compare = Callable[[Record, str, str, Array, Array], Comparison]


@dataclass(frozen=True, slots=True)
class Front:
    """A model as those see it who use it: with pictures where they are prepared in it, else as it was exported."""

    onnx: Path
    signature: Signature
    inputs: tuple[dict[str, Any], ...]
    """name, dtype, shape; in the order of the ONNX model."""
    cases: Mapping[str, Case]


async def fronted(record: Record, tools: Tools, exported: Exported, onnx: Path, compare: Compare, tell: Tell) -> Front:
    """`onnx`: the model in whatever precision, held to what `compare` allows it. Raises ConversionFault where the numbers
    differ."""
    assert record.signature is not None  # noqa: S101 - set by climb
    if not record.spec.preprocessing:
        declared = {item.name: item.model_dump(mode="json") for item in record.inputs}
        names = [item.name for item in record.signature.inputs]
        given = {case: {name: inputs[name] for name in names} for case, inputs in record.cases.items()}
        return Front(onnx, record.signature, tuple(declared[name] for name in names), given)
    began = tools.clock.monotonic()
    await tell("preprocessing", "writing the preprocessing into the graph", 0.7)
    folder, blocks = f"pictures-{onnx.stem}", [block.model_dump(mode="json") for block in record.spec.preprocessing]
    try:
        request = RewriteRequest(REWRITE, onnx, record.work(folder), options={"blocks": blocks})
        rewritten = await tools.rewriter.rewrite(request)
        wanted = replace(check_request(record, rewritten.onnx, f"{folder}-check"), cases=record.pictures)
        checked = await check.run(wanted, tools.limits)
    except ExportFault as error:
        raise ConversionFault("preprocessing", f"its pictures cannot be prepared in the graph: {error}") from error
    fault = await asyncio.to_thread(_fault, record, exported, checked.found, compare)
    record.step("preprocessing", not fault, fault or f"equal on {len(record.pictures)} batches of pictures", began)
    if fault:
        raise ConversionFault("preprocessing", f"the numbers differ from those of pictures prepared outside: {fault}")
    names = [item.name for item in checked.signature.inputs]
    given = {case: {name: inputs[name] for name in names} for case, inputs in record.pictures.items()}
    inputs = tuple(
        {
            "name": item.name,
            "dtype": item.dtype,
            "shape": ["batch", *item.shape[1:]] if item.shape[:1] == (-1,) else [*item.shape],
        }
        for item in checked.signature.inputs
    )
    return Front(rewritten.onnx, checked.signature, inputs, given)


def serve(record: Record, front: Front) -> None:
    """What is served from now on takes pictures."""
    if record.spec.preprocessing:
        record.serves, record.served_signature = FILE, front.signature
        onnx_files.copy(front.onnx, record.scratch / FILE)


def _fault(record: Record, exported: Exported, found: Mapping[str, Mapping[str, Array]], compare: Compare) -> str:
    for case in record.pictures:
        for name, reference in exported.references[case].items():
            compared = compare(record, case, name, reference, found[case][name])
            if not compared.passed:
                return f"{case}, output {name}: {compared.fault}"
    return ""


def exactly(record: Record, case: str, name: str, reference: Array, found: Array) -> Comparison:
    """By the bounds of the export."""
    return gate.compare(case, name, reference, found, record.spec.tolerance)


def as_served(record: Record, case: str, name: str, reference: Array, found: Array) -> Comparison:
    """By those of its precision."""
    return precision.as_served(record.spec.precision, case, name, reference, found, record.spec.tolerance)
