"""Runs in the interpreter of a PyTorch image: builds the model, computes references, exports to ONNX.

A script, not a module of ours: it gets a request file and leaves an answer file, and needs torch, numpy and onnx only.
The last line of defence is the parent (time, memory, the whole tree); what a process can limit of itself is limited here
before any foreign code is imported. Faults are answered as {"fault": kind, "message": …}, and the kind decides what comes
next: "model" (the user has to mend something), "export" (another exporter may do), "machine" (trying again may do).
"""

import ctypes
import errno
import importlib
import json
import os
import pickle
import re
import resource
import signal
import sys
import traceback
import warnings

PR_SET_PDEATHSIG = 1
MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)


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
    except MemoryError:
        answer = {"fault": "model", "message": "the model needs more memory than a conversion may have"}
    except OSError as error:
        answer = {"fault": "machine" if error.errno in MACHINE else "export", "message": str(error)}
    except Exception as error:
        traceback.print_exc()
        answer = {"fault": "export", "message": sentence(error)}
    answer_file = os.path.join(folder, "answer.json")
    with open(answer_file + ".writing", "w") as file:
        json.dump(answer, file)
    os.replace(answer_file + ".writing", answer_file)


def limit(limits):
    if sys.platform == "linux":  # a parent that is killed takes this process along
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    resource.setrlimit(resource.RLIMIT_DATA, (limits["memory"], limits["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def convert(request, folder):
    import numpy
    import torch

    torch.manual_seed(0)
    model = build(request, torch)
    cases = load_cases(folder, numpy)
    references, names = compute(model, request, cases, torch)
    numpy.savez(
        os.path.join(folder, "references.npz"),
        **{f"{case}/{name}": value for case, values in references.items() for name, value in values.items()},
    )
    export(model, request, references, names, os.path.join(folder, "model.onnx"), torch)
    return {
        "output_names": names,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "framework": f"torch {torch.__version__}",
    }


def build(request, torch):
    """The model with its trained weights, in evaluation mode: that is what is served."""
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
        model = factory()
    except (Exception, SystemExit) as error:
        raise Fault("model", f"{request['model']} failed: {sentence(error)}{where(error, request)}")
    if not isinstance(model, torch.nn.Module):
        raise Fault("model", f"{request['model']} gave a {type(model).__name__}, a torch.nn.Module is needed")
    load_weights(model, request["weights"], torch)
    return model.eval()


def load_weights(model, path, torch):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise Fault("model", f"there are no weights at {path} (convert.weights)")
    except pickle.UnpicklingError:
        raise Fault("model", f"{path} holds Python objects, not only tensors: save model.state_dict()")
    except (RuntimeError, EOFError, OSError, KeyError, ValueError) as error:
        raise Fault("model", f"{path} cannot be read as PyTorch weights: {first_line(error)}")
    if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
        raise Fault("model", f"{path} holds a {type(state).__name__}, a state dict is needed: save model.state_dict()")
    own = model.state_dict().keys()
    for prefix in ("module.", "_orig_mod."):  # what DistributedDataParallel and torch.compile put before every name
        if state and all(key.startswith(prefix) for key in state) and not any(key.startswith(prefix) for key in own):
            state = {key[len(prefix) :]: value for key, value in state.items()}
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
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
                words = f"the model fails on its declared inputs ({case}): {sentence(error)}{where(error, request)}"
                raise Fault("model", words)
            if not outputs:
                raise Fault("model", "the model gives no tensor")
            names = names or [f"output_{index}" for index in range(len(outputs))]
            if len(names) != len(outputs):
                raise Fault("model", f"convert.outputs names {len(names)} outputs, the model gives {len(outputs)}")
            references[case] = {name: array(name, output, torch) for name, output in zip(names, outputs)}
    return references, names


def array(name, output, torch):
    if not isinstance(output, torch.Tensor):
        raise Fault("model", f"output {name!r} is a {type(output).__name__}; an ONNX model gives tensors only")
    try:
        # A copy: an output may be a view of an input or of another output.
        return output.detach().cpu().resolve_conj().numpy().copy()
    except TypeError:
        raise Fault("model", f"output {name!r} is {output.dtype}, which cannot be compared: cast it in the model")


def flat(value):
    """Tensors of an output in order; dicts by their own order, as the exporter does."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flat(item)]
    return [value]


def export(model, request, references, names, path, torch):
    rung = request["rung"]
    # A batch of 2 at least: with 1 an exporter cannot tell the batch from a constant.
    example = tuple(torch.from_numpy(example_of(spec)) for spec in request["inputs"])
    input_names = [spec["name"] for spec in request["inputs"]]
    free = [
        {index: dim for index, dim in enumerate(spec["shape"]) if dim in ("batch", -1)} for spec in request["inputs"]
    ]
    options = {"input_names": input_names, "output_names": names, "opset_version": rung["opset"]}
    if rung["exporter"] == "dynamo":
        # Other free dimensions are left to the exporter, which finds out which of them have to be equal.
        batch, auto = torch.export.Dim("batch", min=1), torch.export.Dim.AUTO
        shapes = tuple({index: batch if dim == "batch" else auto for index, dim in axes.items()} for axes in free)
        options.update(dynamo=True, dynamic_shapes=shapes, external_data=False, verbose=False)
    else:
        axes = {
            name: {index: "batch" if dim == "batch" else f"{name}_{index}" for index, dim in found.items()}
            for name, found in zip(input_names, free)
        }
        axes.update({name: moving([found[name] for found in references.values()], name) for name in names})
        options.update(dynamo=False, dynamic_axes=axes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(model, example, path, **options)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise Fault("export", f"{refusal(error)}{where(error, request)}")


def refusal(error):
    """The exporter's own reason without its colours, its advice and the graph that it prints: the operator that it stopped
    at, and the innermost cause."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    operator = re.search(r"Error when translating node .*?torch\.ops\.([\w.]+)", text, re.DOTALL)
    cause = re.search(r"## Exception summary\s*\n+(.*?)(?:\n⬆️|\n\(Refer|$)", text, re.DOTALL)
    words = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", (cause.group(1) if cause else text).split("For more info")[0])
    words = " ".join(words.split())[:600]
    return f"operator {operator.group(1)}: {words}" if operator else f"{type(error).__name__}: {words}"


def moving(arrays, name):
    """The dimensions of an output that were seen to follow the inputs."""
    shapes = {array.shape for array in arrays}
    return {
        index: "batch" if index == 0 else f"{name}_{index}"
        for index in range(arrays[0].ndim)
        if len({shape[index] for shape in shapes}) > 1
    }


def example_of(spec):
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


def first_line(error):
    return str(error).strip().split("\n")[0][:300]


if __name__ == "__main__":
    main(sys.argv[1])
