"""JAX: a function and its parameters.

`convert.model` gives the function: `apply(parameters, *inputs)`, or a Flax module, whose `apply` it is then. The weights are
an `.npz` or safetensors whose names are paths into the tree of parameters (`params/dense/kernel`), or Flax's msgpack.
"""

import os
import warnings

import jax
import numpy

from trainyard.converter.workers import safetensors_file
from trainyard.converter.workers.frame import Fault, first_line, flat, made, named, sentence, where


def load(request):
    return Function(request)


class Function:
    inputs = outputs = None

    def __init__(self, request):
        self.request = request
        model = made(request)
        apply = getattr(model, "apply", model)
        if not callable(apply):
            raise Fault(
                "model", f"{request['model']} gave a {type(model).__name__}, a function or a Flax module is needed"
            )
        parameters = tree(stored(request["weights"]))
        self.function = lambda *tensors: apply(parameters, *tensors)
        self.framework = f"jax {jax.__version__}"
        self.parameters = int(sum(numpy.size(leaf) for leaf in jax.tree_util.tree_leaves(parameters)))

    def compute(self, inputs, case):
        try:
            found = flat(self.function(*[inputs[spec["name"]] for spec in self.request["inputs"]]))
        except Exception as error:
            words = f"the model fails on its declared inputs ({case}): {sentence(error)}{where(error, self.request)}"
            raise Fault("model", words)
        return {name: numpy.array(value) for name, value in named(found, self.request["output_names"]).items()}

    def export(self, rung, references, path):
        import jax2onnx

        from trainyard.converter.workers import onnx_file

        specs = self.request["inputs"]
        scope = jax.export.SymbolicScope()
        inputs = [abstract(spec, scope) for spec in specs]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = jax2onnx.to_onnx(
                    self.function,
                    inputs,
                    opset=rung["opset"],
                    input_names=[spec["name"] for spec in specs],
                    output_names=list(next(iter(references.values()))),
                )
        except (MemoryError, OSError):
            raise
        except Exception as error:
            raise Fault("export", f"{sentence(error)}{where(error, self.request)}")
        onnx_file.save(model, path)


def abstract(spec, scope):
    """An input without numbers; its free dimensions are symbols."""
    symbols = {"batch": "B", -1: "{name}_{at}"}
    shape = [str(symbols.get(dim, dim)).format(name=spec["name"], at=at) for at, dim in enumerate(spec["shape"])]
    return jax.ShapeDtypeStruct(jax.export.symbolic_shape(",".join(shape), scope=scope), numpy.dtype(spec["dtype"]))


def stored(path):
    """Arrays by their path in the tree."""
    name = os.path.basename(path)
    try:
        if path.endswith(".npz"):
            with numpy.load(path, allow_pickle=False) as found:
                return {key: found[key] for key in found.files}
        if path.endswith(".safetensors"):
            return arrays(safetensors_file.read(path))
        from flax.serialization import msgpack_restore

        with open(path, "rb") as file:
            return msgpack_restore(file.read())
    except FileNotFoundError:
        raise Fault("model", f"there is no model at {path} (convert.weights)")
    except Exception as error:
        raise Fault("model", f"{name} cannot be read as parameters: {first_line(error)}")


def arrays(found):
    """As the reader of safetensors gives them."""
    types = {
        "BF16": jax.numpy.bfloat16,
        "BOOL": "?",
        "U8": "u1",
        **{f"F{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
    }
    types.update({f"I{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)})
    return {
        name: numpy.frombuffer(numbers, types[kind]).reshape(shape) for name, (kind, shape, numbers) in found.items()
    }


def tree(named):
    """`a/b/c` → nested dicts; what is nested already stays."""
    root = {}
    for key, value in named.items():
        *parents, leaf = key.split("/")
        at = root
        for parent in parents:
            at = at.setdefault(parent, {})
        at[leaf] = value
    return root
