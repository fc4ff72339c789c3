"""Whether a server may put the rows of several requests into one batch: decided from what the model was seen to do. Pure.

A batch that is free in the graph is not enough. Every output must have one row for each input row at every size, and the
answer for a row must not depend on its neighbours (as with batch statistics): a server would merge strangers' requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainyard.common.contract.conversions import TensorSpec, Tolerance
from trainyard.converter.core import cases, gate
from trainyard.converter.core.cases import Array


def obstacle(
    inputs: Sequence[TensorSpec],
    references: Mapping[str, Mapping[str, Array]],
    batch_sizes: Sequence[int],
    tolerance: Tolerance | None = None,
) -> str:
    """Why requests must not be merged, in words; empty where they may be. `references` are the framework's own outputs by
    case, with the cases of `cases.build`."""
    fixed = [spec.name for spec in inputs if not cases.has_batch(spec)]
    if fixed:
        return f"input {fixed[0]!r} has no batch"
    for batch in batch_sizes:
        for name, output in references[cases.name("random", batch)].items():
            if output.ndim == 0 or output.shape[0] != batch:
                return f"output {name!r} has shape {list(output.shape)} for a batch of {batch}"
    kind = "samples" if cases.name("samples", batch_sizes[0]) in references else "random"
    whole = references[cases.name(kind, max(batch_sizes))]
    for batch in batch_sizes:
        for name, output in references[cases.name(kind, batch)].items():
            if not gate.compare(kind, name, whole[name][:batch], output, tolerance).passed:
                return f"the rows of a batch change each other in output {name!r}"
    return ""
