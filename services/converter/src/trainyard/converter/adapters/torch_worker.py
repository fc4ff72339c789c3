"""Runs in the interpreter of a PyTorch image: builds the model, computes references, exports to ONNX.

A script, not a module of ours: it gets a request file and leaves an answer file, and needs torch, numpy and onnx only.
The last line of defence is the parent (time, memory, the whole tree); what a process can limit of itself is limited here
before any foreign code is imported. Faults are answered as {"fault": "model" | "export", "message": …}.
"""

import importlib
import json
import os
import pickle
import resource
import sys
import traceback
import warnings


class Fault(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def main(folder):
    with open(os.path.join(folder, "request.json")) as file:
        request = json.load(file)
    limit(request["limits"])
    try:
        answer = convert(request, folder)
    except Fault as error:
        answer = {"fault": error.kind, "message": str(error)}
    with open(os.path.join(folder, "answer.json"), "w") as file:
        json.dump(answer, file)


def limit(limits):
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def convert(request, folder):
    import numpy
    import torch

    torch.manual_seed(0)
    model, notes = build(request, torch)
    cases = load_cases(folder, numpy)
    references, names = compute(model, request, cases, torch)
    numpy.savez(
        os.path.join(folder, "references.npz"),
        **{f"{case}/{name}": value for case, values in references.items() for name, value in values.items()},
    )
    export(model, request, names, os.path.join(folder, "model.onnx"), torch)
    return {
        "output_names": names,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "framework": f"torch {torch.__version__}",
        "notes": notes,
    }


def build(request, torch):
    sys.path.insert(0, request["workdir"])
    module_name, _, factory_name = request["model"].partition(":")
    try:
        factory = importlib.import_module(module_name)
        for part in factory_name.split("."):
            factory = getattr(factory, part)
        model = factory()
    except (ImportError, AttributeError) as error:
        raise Fault(
            "model", f"convert.model {request['model']!r} cannot be imported from {request['workdir']}: {error}"
        )
    except Exception as error:
        raise Fault("model", f"{request['model']} failed: {type(error).__name__}: {error} ({where()})")
    if not isinstance(model, torch.nn.Module):
        raise Fault("model", f"{request['model']} gave a {type(model).__name__}, a torch.nn.Module is needed")
    load_weights(model, request["weights"], torch)
    notes = ["the model was in training mode and is converted in evaluation mode"] if model.training else []
    return model.eval(), notes


def load_weights(model, path, torch):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise Fault("model", f"there are no weights at {path} (convert.weights)")
    except pickle.UnpicklingError:
        raise Fault("model", f"{path} holds Python objects, not only tensors: save model.state_dict()")
    except (RuntimeError, EOFError, OSError, KeyError, ValueError) as error:
        raise Fault("model", f"{path} cannot be read as PyTorch weights: {first_line(error)}")
    if not isinstance(state, dict):
        raise Fault("model", f"{path} holds a {type(state).__name__}, a state dict is needed: save model.state_dict()")
    # What DistributedDataParallel adds when its own state dict was saved.
    state = {key.removeprefix("module."): value for key, value in state.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise Fault("model", f"the weights do not fit the model: {' '.join(str(error).split())[:500]}")


def load_cases(folder, numpy):
    cases = {}
    with numpy.load(os.path.join(folder, "cases.npz"), allow_pickle=False) as stored:
        for key in stored.files:
            case, _, name = key.rpartition("/")
            cases.setdefault(case, {})[name] = stored[key]
    return cases


def compute(model, request, cases, torch):
    """What the model itself gives, by case and output name."""
    names = list(request["output_names"])
    references = {}
    with torch.inference_mode():
        for case, inputs in cases.items():
            tensors = [torch.from_numpy(inputs[spec["name"]]) for spec in request["inputs"]]
            try:
                outputs = flat(model(*tensors))
            except Exception as error:
                raise Fault(
                    "model", f"the model fails on its declared inputs ({case}): {type(error).__name__}: {error}"
                )
            if not outputs:
                raise Fault("model", "the model gives no tensor")
            names = names or [f"output_{index}" for index in range(len(outputs))]
            if len(names) != len(outputs):
                raise Fault("model", f"convert.outputs names {len(names)} outputs, the model gives {len(outputs)}")
            references[case] = {name: output.numpy() for name, output in zip(names, outputs)}
    return references, names


def flat(value):
    """Tensors of an output in order; dicts by their own order, as the exporter does."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flat(item)]
    return [value]


def export(model, request, names, path, torch):
    rung = request["rung"]
    # A batch of 2 at least: with 1 an exporter cannot tell the batch from a constant.
    example = tuple(torch.from_numpy(example_of(spec)) for spec in request["inputs"])
    input_names = [spec["name"] for spec in request["inputs"]]
    free = [
        {index: "batch" if dim == "batch" else f"{spec['name']}_{index}"
         for index, dim in enumerate(spec["shape"]) if dim in ("batch", -1)}
        for spec in request["inputs"]
    ]  # fmt: skip
    options = {"input_names": input_names, "output_names": names, "opset_version": rung["opset"]}
    if rung["exporter"] == "dynamo":
        dims = {}
        shapes = tuple(
            {index: dims.setdefault(name, torch.export.Dim(name, min=1)) for index, name in axes.items()}
            for axes in free
        )
        options.update(dynamo=True, dynamic_shapes=shapes, external_data=False, verbose=False)
    else:
        options.update(dynamo=False, dynamic_axes=dict(zip(input_names, free)))
        for name in names:
            options["dynamic_axes"][name] = {0: "batch"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(model, example, path, **options)
    except Exception as error:
        raise Fault("export", f"{type(error).__name__}: {' '.join(str(error).split())[:1500]}")


def example_of(spec):
    import numpy

    shape = [2 if dim == "batch" else 3 if dim == -1 else dim for dim in spec["shape"]]
    dtype = numpy.dtype(spec["dtype"])
    return numpy.ones(shape, dtype) if dtype.kind != "f" else numpy.full(shape, 0.5, dtype)


def where():
    """The user's own last line in the traceback."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "unknown place"


def first_line(error):
    return str(error).strip().split("\n")[0][:300]


if __name__ == "__main__":
    main(sys.argv[1])
