"""How long a model takes for one input, over and over, and what memory it has at most."""

import resource
import sys
import time

import numpy

from trainyard.converter.adapters.onnx_model import Runtime

WARM_UP = 3
RUNS, SECONDS = 200, 1.0
"""As many runs, or for as long."""


def answer(request, cases, folder):
    import onnxruntime

    del folder
    (inputs,) = cases.values()
    before = peak()
    runtime = Runtime(request["onnx"])
    for _ in range(WARM_UP):
        runtime.run(inputs)
    taken, began = [], time.perf_counter()
    while len(taken) < RUNS and (len(taken) < WARM_UP or time.perf_counter() - began < SECONDS):
        start = time.perf_counter()
        runtime.run(inputs)
        taken.append(time.perf_counter() - start)
    return {
        "framework": f"onnxruntime {onnxruntime.__version__}",
        "p50_ms": float(numpy.percentile(taken, 50)) * 1e3,
        "p99_ms": float(numpy.percentile(taken, 99)) * 1e3,
        "per_second": len(taken) / sum(taken),
        "memory": max(0, peak() - before),
    }


def peak():
    """Bytes that were resident at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
