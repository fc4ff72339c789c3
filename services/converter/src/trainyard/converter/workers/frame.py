"""What the workers share: faults, and how foreign code is imported and its errors are told."""

import importlib
import os
import sys
import traceback


class Fault(Exception):
    """The kind decides what comes next: "model" (the user has to mend something), "export" (another exporter may do),
    "machine" (trying again may do), "nothing" (it would do what another exporter did)."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def made(request):
    """What `convert.model` (`module:factory`) gives, called without arguments. Raises Fault."""
    if not request["model"]:
        raise Fault("model", "this format holds weights only: name the code that builds the model (convert.model)")
    sys.path[:0] = [request["workdir"], *request["paths"]]
    module_name, _, factory_name = request["model"].partition(":")
    try:
        factory = importlib.import_module(module_name)
        for part in factory_name.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError) as error:
        raise Fault(
            "model", f"convert.model {request['model']!r} cannot be imported from {request['workdir']}: {error}"
        )
    except (Exception, SystemExit) as error:
        raise Fault("model", f"importing {module_name} failed: {sentence(error)}{where(error, request)}")
    try:
        return factory()
    except (Exception, SystemExit) as error:
        raise Fault("model", f"{request['model']} failed: {sentence(error)}{where(error, request)}")


def named(outputs, names):
    """Outputs by name: the names that were given, else output_0, output_1 … Raises Fault."""
    if not outputs:
        raise Fault("model", "the model gives no tensor")
    names = names or [f"output_{index}" for index in range(len(outputs))]
    if len(names) != len(outputs):
        raise Fault("model", f"convert.outputs names {len(names)} outputs, the model gives {len(outputs)}")
    return dict(zip(names, outputs))


def flat(value):
    """Tensors of an output in order; dicts by their own order, as the exporters do."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flat(item)]
    return [value]


def example_of(spec):
    """An input to trace with. A batch of 2 at least: with 1 an exporter cannot tell the batch from a constant."""
    import numpy

    shape = [2 if dim == "batch" else 3 if dim == -1 else dim for dim in spec["shape"]]
    dtype = numpy.dtype(spec["dtype"])
    return numpy.ones(shape, dtype) if dtype.kind != "f" else numpy.full(shape, 0.5, dtype)


def where(error, request):
    """The last line of the user's own code that the error came through."""
    workdir = os.path.realpath(request["workdir"])
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and before not in chain:
        chain.append(before)
    frames = [
        frame
        for raised in chain
        for frame in traceback.extract_tb(raised.__traceback__)
        if os.path.realpath(frame.filename).startswith(workdir + os.sep) and "site-packages" not in frame.filename
    ]
    return f" ({os.path.relpath(frames[-1].filename, workdir)}:{frames[-1].lineno})" if frames else ""


def sentence(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"


def gist(error):
    """The first and the last line: between them many frameworks put where in their own code it was."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ends = [line[:250] for line in dict.fromkeys([*lines[:1], *lines[-1:]])]
    return f"{type(error).__name__}: {' … '.join(ends)}"


def first_line(error):
    return str(error).strip().split("\n")[0][:300] or type(error).__name__
