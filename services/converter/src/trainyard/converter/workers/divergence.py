"""How far every tensor that two graphs of the same model both have is off, in the order of the first."""

import os

import numpy
import onnx
import onnxruntime

AT_ONCE = 64
"""Tensors that are looked at in one run: all at once may not fit into the memory."""


def answer(request, cases, folder):
    del folder
    (inputs,) = cases.values()
    (reference, here), (other, elsewhere) = (opened(request[name]) for name in ("reference", "other"))
    there = set(outputs(other))
    common = [name for name in outputs(reference) if name in there]
    makers = {name: node for node in reference.graph.node for name in node.output}
    found = []
    for at in range(0, len(common), AT_ONCE):
        names = common[at : at + AT_ONCE]
        for name, a, b in zip(names, values(reference, here, names, inputs), values(other, elsewhere, names, inputs)):
            if isinstance(a, numpy.ndarray) and a.dtype.kind == "f":
                node = makers[name]
                told = {"tensor": name, "operator": node.op_type, "inputs": list(node.input), "size": a.size}
                found.append({**told, "error": distance(a, b), "largest": largest(a)})
    return {"framework": f"onnxruntime {onnxruntime.__version__}", "differences": found}


def opened(path):
    """The graph, and the folder that its weights lie in where they lie outside."""
    return onnx.load(path, load_external_data=False), os.path.dirname(os.path.abspath(path))


def outputs(model):
    return [name for node in model.graph.node for name in node.output if name]


def values(model, beside, names, inputs):
    """`model`: without what lies beside it, in the folder `beside`."""
    looked = onnx.ModelProto()
    looked.CopyFrom(model)
    known = {value.name for value in looked.graph.output}
    looked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", beside)
    session = onnxruntime.InferenceSession(looked.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    return session.run(names, {name: array for name, array in inputs.items() if name in wanted})


def largest(a):
    finite = numpy.abs(a[numpy.isfinite(a)].astype(numpy.float64))
    return float(finite.max()) if finite.size else 0.0


def distance(a, b):
    """Relative to the reference; None: infinite."""
    if not isinstance(b, numpy.ndarray) or a.shape != b.shape:
        return None
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
        return None
    a, b = (numpy.where(numpy.isfinite(value), value, 0.0) for value in (a, b))
    norm = float(numpy.linalg.norm(a))
    return float(numpy.linalg.norm(a - b)) / norm if norm else float(numpy.linalg.norm(a - b))
