"""Which layers of a model are found again in its ONNX graph: by what they give, whatever they are called there and however
their axes are turned."""

import itertools

import numpy
import onnx

from trainyard.converter.workers.divergence import AT_ONCE, opened, outputs, values

RTOL, ATOL = 1e-3, 1e-4


def answer(request, cases, folder):
    """`layers.npz` holds what the layers give, in their order. One that gives the same number everywhere shows nothing."""
    del folder
    (inputs,) = cases.values()
    with numpy.load(request["layers"], allow_pickle=False) as stored:
        given = [stored[key] for key in stored.files]
    missing = {at for at, array in enumerate(given) if array.size > 1 and array.min() != array.max()}
    silent = set(range(len(given))) - missing
    model, beside = opened(request["onnx"])
    names = outputs(model)
    for begin in range(0, len(names), AT_ONCE):
        for found in values(model, beside, names[begin : begin + AT_ONCE], inputs):
            if isinstance(found, numpy.ndarray) and found.dtype.kind == "f":
                missing -= {at for at in missing if same(given[at], found)}
    seen = sorted(set(range(len(given))) - missing - silent)
    return {"framework": f"onnx {onnx.__version__}", "seen": seen, "silent": sorted(silent)}


def same(layer, found):
    """Whether one is the other, with its axes in whatever order."""
    if layer.size != found.size:
        return False
    if layer.ndim != found.ndim:
        return close(layer.ravel(), found.ravel())
    orders = itertools.permutations(range(found.ndim)) if found.ndim <= 4 else [range(found.ndim)]
    return any(
        tuple(found.shape[axis] for axis in order) == layer.shape and close(layer, found.transpose(*order))
        for order in orders
    )


def close(a, b):
    scale = max(1.0, float(numpy.sqrt(numpy.mean(numpy.square(a)))))
    return bool(numpy.allclose(b.astype(numpy.float64), a, rtol=RTOL, atol=ATOL * scale, equal_nan=True))
