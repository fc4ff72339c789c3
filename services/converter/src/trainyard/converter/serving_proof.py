"""The Triton repository, written once the numbers agree, and a server that has to answer with them from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trainyard.common.errors import Retryable, TrainyardError
from trainyard.converter.adapters import proof, repository
from trainyard.converter.adapters.proof import Proof
from trainyard.converter.core import batching, cases, postprocessing, triton
from trainyard.converter.core.cases import Array
from trainyard.converter.core.report import ServedReport
from trainyard.converter.ends import Whole, as_served, held
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


async def serve(record: Record, tools: Tools, whole: Whole, config: triton.ModelConfig) -> None:
    """One held-out sample (or the first generated input) through a server, against the framework's own output."""
    began = tools.clock.monotonic()
    case = _case(record)
    answers, ranks = whole.answers(case), {item.name: triton.rank(config, item) for item in config.outputs}
    inputs = {item.name: triton.seen(whole.cases[case][item.name], triton.rank(config, item)) for item in config.inputs}
    try:
        endpoint, server, outputs = await tools.serving.ask(record.scratch / "triton", record.name, inputs)
    except Retryable:
        raise
    except TrainyardError as error:
        raise ConversionFault("serving", str(error)) from error
    missing = sorted(set(answers) - set(outputs))
    if missing:
        raise ConversionFault("serving", f"the server answers without {', '.join(missing)}")
    outputs = {name: triton.plain(outputs[name], answer.ndim) for name, answer in answers.items()}
    comparisons = held(record, whole, case, outputs, as_served)
    record.served = ServedReport(
        endpoint=endpoint,
        server=server,
        sample=0,
        label=_label(record) if case.startswith("samples") else None,
        predicted=_predicted(record, outputs),
        reference=_predicted(record, answers),
        max_abs_error=max(item.max_abs for item in comparisons),
        passed=all(item.passed for item in comparisons),
    )
    wrong = [item for item in comparisons if not item.passed]
    if wrong:
        raise ConversionFault("serving", f"the server answers other numbers: {wrong[0].fault}")
    shown = {name: triton.seen(answer, ranks[name]) for name, answer in answers.items()}
    proof.write(record.scratch, Proof(case, inputs, shown))
    record.step("serve", True, f"{server} at {endpoint} answers the same numbers", began)


def _case(record: Record) -> str:
    """A held-out sample where there is one."""
    of_kind = {case.partition(",")[0] for case in record.sent or record.cases}
    kind = next(kind for kind in ("pictures", "columns", "samples", "random") if kind in of_kind)
    return cases.name(kind, min(record.batch_sizes))


def _label(record: Record) -> int | str | None:
    """What the held-out sample really is, where the samples tell."""
    labels = record.samples.get("labels")
    if labels is None or labels.ndim != 1 or labels.size == 0 or labels.dtype.kind not in "iu":
        return None
    return _word(record, int(labels[0]))


def _predicted(record: Record, outputs: Mapping[str, Array]) -> int | str | None:
    """The class of the first row, where the first output has classes or places of such."""
    for block in record.spec.postprocessing[:1]:
        places = outputs.get(postprocessing.called(block, postprocessing.INDICES))
        if places is not None and places.ndim == 2:
            return _word(record, int(places[0, 0]))
    output = next(iter(outputs.values()))
    return _word(record, int(np.argmax(output[0]))) if output.ndim == 2 and output.shape[1] > 1 else None


def _word(record: Record, index: int) -> int | str:
    return record.spec.labels[index] if index < len(record.spec.labels) else index
