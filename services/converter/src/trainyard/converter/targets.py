"""Other formats than ONNX: written from the model whose numbers agree, read back, and held to the same numbers."""

from __future__ import annotations

from dataclasses import asdict

from trainyard.common.contract.conversions import Target
from trainyard.converter.adapters import scripts
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.adapters.worker_target import document
from trainyard.converter.core import gate
from trainyard.converter.core.formats import OWN
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.report import TargetReport
from trainyard.converter.core.targets import WRITERS, Writer
from trainyard.converter.ends import FILE, Whole, held
from trainyard.converter.ports import ExportFault, TargetRequest, Tell, Written
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.record import Record


async def write(record: Record, tools: Tools, whole: Whole, tell: Tell) -> None:
    """All that were asked for. One that fails does not keep the others from being tried; the conversion fails then all the
    same. Raises ConversionFault."""
    faults = []
    wanted = [target for target in dict.fromkeys(record.spec.to) if target in WRITERS]
    for index, target in enumerate(wanted):
        writer, began = WRITERS[target], tools.clock.monotonic()
        request = _request(record, target, writer, whole)
        await tell("target", f"writing {writer.words}", 0.7 + 0.05 * index / len(wanted))
        words = f"{writer.words}, equal on {len(whole.cases)} inputs"
        try:
            written = await tools.targets.write(request)
            fault = _held(record, target, written, whole)
            words += f"; {written.note}" if written.note else ""
        except ExportFault as error:
            fault = str(error)
        if fault:
            faults.append(f"it cannot become {writer.words}: {fault}")
        script = _script(record, request, writer)
        record.step(target, not fault, fault or words, began, script=script)
    if faults:
        raise ConversionFault("target", "; ".join(faults))


def _request(record: Record, target: Target, writer: Writer, whole: Whole) -> TargetRequest:
    return TargetRequest(
        target=target,
        writer=writer,
        onnx=whole.onnx,
        inputs=whole.inputs,
        outputs=tuple(item.name for item in whole.signature.outputs),
        cases=whole.cases,
        folder=record.work(f"target-{target}"),
    )


def _script(record: Record, request: TargetRequest, writer: Writer) -> Script:
    onnx = f"{{result}}/{FILE if record.sent else 'model.onnx'}"
    # Of a model in a lower precision what stands before and behind the usual one is not kept.
    again = {**document(request), "onnx": None if record.sent and record.spec.precision else onnx}
    environment = scripts.OWN if writer.environment == OWN else f"deploy/converters/{writer.environment}"
    return Script(request.target, environment, request.target, again, compares=not record.sent)


def _held(record: Record, target: Target, written: Written, whole: Whole) -> str:
    """What is wrong with it; empty, and then its files are part of the result, where nothing is."""
    comparisons: list[Comparison] = []
    for case in whole.cases:
        comparisons += held(record, whole, case, written.found[case])
    wrong = [item for item in comparisons if not item.passed]
    if not wrong:
        written.files.rename(record.scratch / target)
    record.targets.append(
        TargetReport(
            target=target,
            framework=written.framework,
            passed=not wrong,
            max_abs_error=gate.usual_error(comparisons),
            comparisons=[asdict(item) for item in comparisons],
        )
    )
    return f"the numbers differ: {wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}" if wrong else ""
