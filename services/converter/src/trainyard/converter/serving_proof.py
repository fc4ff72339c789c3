"""The Triton repository, written once the numbers agree, and a server that has to answer with them from it."""

from __future__ import annotations

import numpy as np

from trainyard.common.errors import Retryable, TrainyardError
from trainyard.converter.adapters import proof, repository
from trainyard.converter.adapters.proof import Proof
from trainyard.converter.core import batching, cases, triton
from trainyard.converter.core.cases import Array
from trainyard.converter.core.report import ServedReport
from trainyard.converter.picturing import as_served
from trainyard.converter.ports import Exported
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.record import Record


def write_repository(record: Record, exported: Exported) -> triton.ModelConfig:
    signature = record.served_signature or record.signature
    assert signature is not None  # noqa: S101 - set by climb
    spec, batches = record.spec, record.batch_sizes
    obstacle = batching.obstacle(record.inputs, exported.references, batches, spec.tolerance)
    config = triton.configure(
        record.name,
        signature.inputs,
        signature.outputs,
        max_batch=0 if obstacle else max(batches),
        labels=spec.labels,
    )
    if config.max_batch_size == 0:
        why = obstacle or "not every input and output has a free batch before its other dimensions"
        record.note(f"requests are served one by one: {why}")
    repository.write(record.scratch / "triton", config, record.scratch / record.serves)
    record.config = config
    return config


async def serve(record: Record, tools: Tools, exported: Exported, config: triton.ModelConfig) -> None:
    """One held-out sample (or the first generated input) through a server, against the framework's own output."""
    began = tools.clock.monotonic()
    kind = "pictures" if record.pictures else "samples" if record.samples else "random"
    case = cases.name(kind, min(record.batch_sizes))
    inputs = {item.name: (record.pictures or record.cases)[case][item.name] for item in config.inputs}
    try:
        endpoint, server, outputs = await tools.serving.ask(record.scratch / "triton", record.name, inputs)
    except Retryable:
        raise
    except TrainyardError as error:
        raise ConversionFault("serving", str(error)) from error
    comparisons = [
        as_served(record, case, name, reference, outputs[name]) for name, reference in exported.references[case].items()
    ]
    first = exported.output_names[0]
    record.served = ServedReport(
        endpoint=endpoint,
        server=server,
        sample=0,
        label=None if record.pictures else _label(record),
        predicted=_predicted(record, outputs[first]),
        reference=_predicted(record, exported.references[case][first]),
        max_abs_error=max(item.max_abs for item in comparisons),
        passed=all(item.passed for item in comparisons),
    )
    wrong = [item for item in comparisons if not item.passed]
    if wrong:
        raise ConversionFault("serving", f"the server answers other numbers: {wrong[0].fault}")
    proof.write(record.scratch, Proof(case, inputs, dict(exported.references[case])))
    record.step("serve", True, f"{server} at {endpoint} answers the same numbers", began)


def _label(record: Record) -> int | str | None:
    """What the held-out sample really is, where the samples tell."""
    labels = record.samples.get("labels")
    if labels is None or labels.ndim != 1 or labels.size == 0 or labels.dtype.kind not in "iu":
        return None
    return _word(record, int(labels[0]))


def _predicted(record: Record, output: Array) -> int | str | None:
    """The class of the first row, where the output has classes."""
    return _word(record, int(np.argmax(output[0]))) if output.ndim == 2 and output.shape[1] > 1 else None


def _word(record: Record, index: int) -> int | str:
    return record.spec.labels[index] if index < len(record.spec.labels) else index
