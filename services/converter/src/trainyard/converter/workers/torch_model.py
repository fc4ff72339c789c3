"""PyTorch: code and a state dict, TorchScript, `torch.export` programs, safetensors."""

import re
import warnings

import torch

from trainyard.converter.workers import safetensors_file, torch_layers, torch_rewritten
from trainyard.converter.workers.frame import Fault, example_of, flat, made, named, sentence, where
from trainyard.converter.workers.torch_archive import harmless, reason


def load(request):
    torch.manual_seed(0)
    match request["format"]:
        case "torchscript":
            return Script(request)
        case "torch-export":
            return Program(request)
        case _:
            return Module(request)


class Model:
    """A module of torch; how it is exported is left to its kinds."""

    inputs = outputs = None

    def __init__(self, request, module):
        self.request = request
        self.module = module
        self.framework = f"torch {torch.__version__}"
        self.parameters = sum(parameter.numel() for parameter in module.parameters())
        self.bytes = sum(item.nbytes for item in (*module.parameters(), *module.buffers()))

    def compute(self, inputs, case):
        """What the model itself gives, by output name."""
        tensors = [torch.from_numpy(inputs[spec["name"]]) for spec in self.request["inputs"]]
        try:
            with torch.inference_mode():
                outputs = flat(self.module(*tensors))
        except Exception as error:
            words = (
                f"the model fails on its declared inputs ({case}): {self.failure(error)}{where(error, self.request)}"
            )
            raise Fault("model", words)
        return {name: array(name, output) for name, output in named(outputs, self.request["output_names"]).items()}

    def failure(self, error):
        return sentence(error)

    def layers(self, inputs):
        return torch_layers.layers(
            self.module, [torch.from_numpy(inputs[spec["name"]]) for spec in self.request["inputs"]]
        )

    def export(self, rung, references, path):
        specs, names = self.request["inputs"], list(next(iter(references.values())))
        example = tuple(torch.from_numpy(example_of(spec)) for spec in specs)
        options = {
            "input_names": [spec["name"] for spec in specs],
            "output_names": names,
            "opset_version": rung["opset"],
        }
        free = [{index: dim for index, dim in enumerate(spec["shape"]) if dim in ("batch", -1)} for spec in specs]
        if rung["exporter"] != "torchscript":
            large = self.bytes > self.request["limits"]["inline"]
            options.update(dynamo=True, external_data=large, verbose=False, **self.dynamic(free))
        else:
            axes = {
                spec["name"]: {
                    index: "batch" if dim == "batch" else f"{spec['name']}_{index}" for index, dim in found.items()
                }
                for spec, found in zip(specs, free)
            }
            axes.update({name: moving([found[name] for found in references.values()], name) for name in names})
            options.update(dynamo=False, dynamic_axes=axes)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if rung["exporter"] == "rewritten":
                    self.note = torch_rewritten.export(self.exportable(), example, path, options)
                else:
                    torch.onnx.export(self.exportable(), example, path, **options)
        except (MemoryError, OSError, Fault):
            raise
        except Exception as error:
            raise Fault("export", f"{refusal(error)}{where(error, self.request)}")

    def exportable(self):
        return self.module

    def dynamic(self, free):
        # Other free dimensions are left to the exporter, which finds out which of them have to be equal.
        batch, auto = torch.export.Dim("batch", min=1), torch.export.Dim.AUTO
        return {
            "dynamic_shapes": tuple(
                {at: batch if dim == "batch" else auto for at, dim in axes.items()} for axes in free
            )
        }


class Module(Model):
    """The model's code with its trained weights, in evaluation mode: that is what is served."""

    def __init__(self, request):
        module = made(request)
        if not isinstance(module, torch.nn.Module):
            raise Fault("model", f"{request['model']} gave a {type(module).__name__}, a torch.nn.Module is needed")
        load_weights(module, request)
        super().__init__(request, module.eval())


class Script(Model):
    """A TorchScript archive, which holds its own code."""

    def __init__(self, request):
        harmless(request)
        try:
            module = torch.jit.load(request["weights"], map_location="cpu")
        except (RuntimeError, ValueError, OSError) as error:
            raise Fault("model", f"{request['weights']} cannot be read as TorchScript: {reason(error)}")
        super().__init__(request, module.eval())

    def failure(self, error):
        return reason(error)


class Program(Model):
    """What torch.export wrote (`.pt2`): its free dimensions are those that it was exported with."""

    def __init__(self, request):
        try:
            self.program = torch.export.load(request["weights"])
        except MemoryError:
            raise
        except Exception as error:  # of pickle, zip, JSON and torch
            raise Fault("model", f"{request['weights']} cannot be read as a torch.export program: {reason(error)}")
        super().__init__(request, self.program.module())

    def exportable(self):
        return self.program

    def dynamic(self, free):
        del free
        return {}


def load_weights(model, request):
    path = request["weights"]
    state = tensors(path) if request["format"] == "safetensors" else unpickled(path)
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


def unpickled(path):
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise Fault("model", f"there are no weights at {path} (convert.weights)")
    except MemoryError:
        raise
    except Exception as error:  # of pickle, struct, zip and torch
        kind = re.search(r"GLOBAL (\S+)|unrecognized function (\S+)", str(error))
        if kind:
            words = f"{path} holds Python objects ({kind[1] or kind[2]}), not only tensors"
            raise Fault("model", f"{words}: save model.state_dict()")
        raise Fault("model", f"{path} cannot be read as PyTorch weights: {reason(error)}")


def tensors(path):
    types = {
        "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
        "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    }  # fmt: skip
    try:
        found = safetensors_file.read(path)
    except (ValueError, OSError) as error:
        raise Fault("model", f"{path} cannot be read as safetensors: {reason(error)}")
    return {
        name: torch.frombuffer(numbers, dtype=types[kind]).reshape(shape)
        if len(numbers)
        else torch.empty(shape, dtype=types[kind])
        for name, (kind, shape, numbers) in found.items()
    }


def array(name, output):
    if not isinstance(output, torch.Tensor):
        raise Fault("model", f"output {name!r} is a {type(output).__name__}; an ONNX model gives tensors only")
    try:
        # A copy: an output may be a view of an input or of another output.
        return output.detach().cpu().resolve_conj().numpy().copy()
    except TypeError:
        raise Fault("model", f"output {name!r} is {output.dtype}, which cannot be compared: cast it in the model")


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
