"""What stands before and behind a model as part of what people are given: preprocessing and postprocessing, written into the
graph, and proven from what a client sends to what it gets: the framework's own answer, with numpy and Pillow around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainyard.common.contract.conversions import Postprocessing
from trainyard.converter.adapters import check, onnx_files, scripts, worker_rewriter
from trainyard.converter.adapters.onnx_model import Signature
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.climbing import check_request, compared
from trainyard.converter.core import gate, postprocessing, precision, triton
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.report import ContractReport
from trainyard.converter.ports import Exported, ExportFault, RewriteRequest, Tell
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.record import Record

REWRITE = "rewrites.ends"
FILE = Path("model.served.onnx")
Compare = Callable[[Record, str, str, Array, Array], Comparison]


@dataclass(frozen=True, slots=True)
class Whole:
    """A model as those see it who use it: with what stands before and behind it, or as it was exported where nothing does."""

    onnx: Path
    signature: Signature
    inputs: tuple[dict[str, Any], ...]
    """name, dtype, shape; in the order of the ONNX model."""
    cases: Mapping[str, Case]
    references: Mapping[str, Mapping[str, Array]]
    """Case → output → what the framework itself computes, before anything is done to it."""
    blocks: tuple[Postprocessing, ...] = ()

    def answers(self, case: str) -> dict[str, Array]:
        """What a client ought to get."""
        return postprocessing.apply(self.blocks, self.references[case])


async def complete(record: Record, tools: Tools, exported: Exported, onnx: Path, compare: Compare, tell: Tell) -> Whole:
    """`onnx`: the model in whatever precision, held to what `compare` allows it. Raises ConversionFault where the numbers
    differ, InvalidInput where a block does not fit an output."""
    assert record.signature is not None  # noqa: S101 - set by climb
    if not record.sent:
        declared = {item.name: item.model_dump(mode="json") for item in record.inputs}
        names = [item.name for item in record.signature.inputs]
        given = {case: {name: inputs[name] for name in names} for case, inputs in record.cases.items()}
        return Whole(onnx, record.signature, tuple(declared[name] for name in names), given, exported.references)
    began, spec = tools.clock.monotonic(), record.spec
    postprocessing.check(spec.postprocessing, record.signature.outputs, spec.labels)
    await tell("ends", "writing what stands before and behind the model into the graph", 0.7)
    folder = f"ends-{onnx.stem}"
    options = {
        name: [block.model_dump(mode="json") for block in getattr(spec, name)]
        for name in ("preprocessing", "columns", "postprocessing")
    }
    try:
        request = RewriteRequest(REWRITE, onnx, record.work(folder), options=options)
        rewritten = await tools.rewriter.rewrite(request)
        wanted = replace(check_request(record, rewritten.onnx, f"{folder}-check"), cases=record.sent)
        checked = await check.run(wanted, tools.limits)
    except ExportFault as error:
        raise ConversionFault("ends", f"its graph cannot do what stands before and behind it: {error}") from error
    signature = checked.signature
    names = [item.name for item in signature.inputs]
    whole = Whole(
        rewritten.onnx,
        signature,
        tuple(
            {
                "name": item.name,
                "dtype": item.dtype,
                "shape": ["batch", *item.shape[1:]] if item.shape[:1] == (-1,) else [*item.shape],
            }
            for item in signature.inputs
        ),
        {case: {name: inputs[name] for name in names} for case, inputs in record.sent.items()},
        exported.references,
        spec.postprocessing,
    )
    comparisons = await asyncio.to_thread(_all, record, whole, checked.found, compare)
    wrong = next((item for item in comparisons if not item.passed), None)
    fault = f"{wrong.case}, output {wrong.output}: {wrong.fault}" if wrong else ""
    of = precision.file_of(spec.precision) if record.lowered and spec.precision else "model.onnx"
    again = {**worker_rewriter.document(request), "onnx": f"{{result}}/{of}"}
    script = Script("before and behind", scripts.OWN, str(FILE), again, compares=False)
    kept = script if bool(record.lowered) == bool(spec.precision) else None  # else another one is served in the end
    record.step("before and behind", not fault, fault or f"equal on {len(record.sent)} inputs", began, script=kept)
    if fault:
        raise ConversionFault("ends", f"the numbers differ from what is done outside of the graph: {fault}")
    record.contract = ContractReport.of(FILE, signature.inputs, signature.outputs, options, comparisons)
    return whole


def serve(record: Record, whole: Whole) -> None:
    """What is served from now on does it all."""
    if record.sent:
        record.serves, record.served_signature = FILE, whole.signature
        onnx_files.copy(whole.onnx, record.scratch / FILE)


async def without_scalars(record: Record, tools: Tools, whole: Whole) -> None:
    """What is served has a dimension of 1 in place of none: Triton has no form for a scalar. Raises ConversionFault."""
    if not triton.scalars((*whole.signature.inputs, *whole.signature.outputs)):
        return
    began = tools.clock.monotonic()
    try:
        folder = record.work("scalars")
        rewritten = await tools.rewriter.rewrite(RewriteRequest("rewrites.scalars", whole.onnx, folder))
        ranks = {item.name: max(1, len(item.shape)) for item in (*whole.signature.inputs, *whole.signature.outputs)}
        given = {
            case: {name: triton.seen(array, ranks[name]) for name, array in inputs.items()}
            for case, inputs in whole.cases.items()
        }
        request = replace(check_request(record, rewritten.onnx, "scalars-check"), cases=given)
        checked = await check.run(request, tools.limits)
    except ExportFault as error:
        raise ConversionFault("serving", f"its scalars cannot be served: {error}") from error
    found = {
        case: {name: triton.plain(array, whole.references[case][name].ndim) if name in whole.references[case] else array
               for name, array in outputs.items()}
        for case, outputs in checked.found.items()
    }  # fmt: skip
    compare = as_served if record.spec.precision else None
    of = [case for case in whole.cases if compare is None or case.startswith(gate.ORDINARY)]
    wrong = [item for case in of for item in held(record, whole, case, found[case], compare) if not item.passed]
    words = "scalars are served as [1], equal" if not wrong else f"{wrong[0].output}: {wrong[0].fault}"
    record.step("scalars", not wrong, words, began)
    if wrong:
        raise ConversionFault("serving", f"the numbers differ where scalars have a dimension: {words}")
    record.serves, record.served_signature = FILE, checked.signature
    onnx_files.copy(rewritten.onnx, record.scratch / FILE)


def held(
    record: Record, whole: Whole, case: str, found: Mapping[str, Array], compare: Compare | None = None
) -> list[Comparison]:
    """Every output of one case against what a client ought to get; by the bounds of the export where none are given."""
    if not whole.blocks and compare is None:
        return compared(record, case, whole.references, found)
    pairs = postprocessing.pairs(whole.blocks, whole.references[case], found)
    return [(compare or exactly)(record, case, name, *pair) for name, pair in pairs.items()]


def _all(record: Record, whole: Whole, found: Mapping[str, Mapping[str, Array]], compare: Compare) -> list[Comparison]:
    return [item for case in record.sent for item in held(record, whole, case, found[case], compare)]


def exactly(record: Record, case: str, name: str, reference: Array, found: Array) -> Comparison:
    """By the bounds of the export."""
    return gate.compare(case, name, reference, found, record.spec.tolerance)


def as_served(record: Record, case: str, name: str, reference: Array, found: Array) -> Comparison:
    """By those of its precision."""
    return precision.as_served(record.spec.precision, case, name, reference, found, record.spec.tolerance)
