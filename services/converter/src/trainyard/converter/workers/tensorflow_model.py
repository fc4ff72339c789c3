"""TensorFlow and Keras: SavedModel, Keras archives, frozen graphs.

All of them become one `tf.function` of positional tensors that gives a list, which is what computes the references and
what tf2onnx is given.
"""

import os

import numpy
import tensorflow as tf

from trainyard.converter.workers import keras_archive
from trainyard.converter.workers.frame import Fault, first_line, flat, named, sentence
from trainyard.converter.workers.graphs import rename
from trainyard.converter.workers.tensorflow_graphs import harmless, metas_of
from trainyard.converter.workers.tensorflow_onnx import model_of


def load(request):
    tf.random.set_seed(0)
    return FORMATS[request["format"]](request)


class Function:
    """A function over named inputs."""

    def __init__(self, request, framework, call, inputs, outputs, parameters):
        """`call`: list of tensors → list of tensors; `outputs`: their names, or None where nobody named them."""
        self.request = request
        self.framework = framework
        self.call = call
        self.inputs = inputs
        self.outputs = None
        self.names = outputs
        self.parameters = parameters

    def compute(self, inputs, case):
        tensors = [tf.constant(inputs[spec["name"]]) for spec in self.specs()]
        try:
            found = [numpy.asarray(tensor) for tensor in self.call(tensors)]
        except Exception as error:
            raise Fault("model", f"the model fails on its declared inputs ({case}): {sentence(error)}")
        return named(found, self.request["output_names"] or self.names)

    def specs(self):
        """Inputs as requested, in the order of the model's own."""
        wanted = {spec["name"]: spec for spec in self.request["inputs"]}
        order = [spec["name"] for spec in self.inputs]
        if set(wanted) == set(order):
            return [wanted[name] for name in order]
        if len(wanted) != len(order):
            raise Fault("model", f"convert.inputs names {', '.join(wanted)}; the model takes {', '.join(order)}")
        return self.request["inputs"]

    def export(self, rung, references, path):
        from trainyard.converter.workers import onnx_file

        specs = self.specs()
        signature = [
            tf.TensorSpec(
                [None if dim in ("batch", -1) else dim for dim in spec["shape"]], spec["dtype"], f"input_{index}"
            )
            for index, spec in enumerate(specs)
        ]
        model = model_of(self.call, signature, rung["opset"])
        rename(model, [spec["name"] for spec in specs], list(next(iter(references.values()))))
        onnx_file.save(model, path)


class Keras(Function):
    def __init__(self, request):
        import keras

        keras_archive.harmless(request)
        path = request["weights"]
        try:
            model = keras.saving.load_model(path, compile=False, safe_mode=not request["trust"])
            framework = f"keras {keras.__version__}, tensorflow {tf.__version__}"
        except Exception as error:
            if "safe_mode" in str(error) and not request["trust"]:
                raise Fault("model", f"{os.path.basename(path)} may hold code; convert.trust lets it run")
            model, framework = legacy(request, error)
        if not model.inputs:
            raise Fault(
                "model", f"the {type(model).__name__} was saved before it knew its inputs: call it once, then save it"
            )
        self.model = model
        structure = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
        single = not isinstance(structure, (list, tuple, dict))
        tensors = flat(structure)
        super().__init__(
            request,
            framework,
            lambda given: flat(model(given[0] if single else nest(structure, given), training=False)),
            [described(tensor.name.split(":")[0], tensor.shape, tensor.dtype) for tensor in tensors],
            names_of(model),
            int(sum(numpy.prod(weight.shape) for weight in model.weights)),
        )

    def layers(self, inputs):
        """Of a functional or sequential model, whose layers are known before it is called."""
        import keras

        found = []
        shown = [layer for layer in self.model.layers if not isinstance(layer, keras.layers.InputLayer)]
        looked = keras.Model(self.model.inputs, [layer.output for layer in shown])
        answers = looked([tf.constant(inputs[spec["name"]]) for spec in self.specs()], training=False)
        for layer, answer in zip(shown, answers):
            for tensor in flat(answer):
                if tf.as_dtype(tensor.dtype).is_floating:
                    words = f"{layer.name} ({type(layer).__name__})"
                    found.append((words, numpy.asarray(tensor).astype(numpy.float64)))
        return found


class SavedModel(Function):
    def __init__(self, request):
        harmless(request, (), metas_of(request["weights"]))
        try:
            loaded = tf.saved_model.load(request["weights"])
        except Exception as error:
            raise Fault("model", f"{request['weights']} cannot be read as a SavedModel: {first_line(error)}")
        self.loaded = loaded  # what its functions have captured lives as long as it does
        function = chosen(loaded.signatures, request["signature"])
        inputs = sorted(function.structured_input_signature[1].values(), key=lambda spec: spec.name)
        names = list(function.structured_outputs)
        super().__init__(
            request,
            f"tensorflow {tf.__version__}",
            lambda given: [function(**dict(zip([spec.name for spec in inputs], given)))[name] for name in names],
            [described(spec.name, spec.shape, spec.dtype.name) for spec in inputs],
            names,
            int(sum(numpy.prod(variable.shape) for variable in function.variables)),
        )


class FrozenGraph(Function):
    """What goes in are its placeholders; what comes out, the tensors that nothing inside consumes."""

    def __init__(self, request):
        graph = tf.compat.v1.GraphDef()
        try:
            with open(request["weights"], "rb") as file:
                graph.ParseFromString(file.read())
        except Exception as error:
            raise Fault("model", f"{request['weights']} cannot be read as a frozen graph: {first_line(error)}")
        harmless(request, [graph])
        consumed = {name.lstrip("^").split(":")[0] for node in graph.node for name in node.input}
        inputs = [node.name for node in graph.node if node.op == "Placeholder"]
        outputs = [node.name for node in graph.node if node.name not in consumed and node.op not in QUIET]
        if not inputs or not outputs:
            raise Fault("model", "the graph has no placeholder, or nothing comes out of it")
        wrapped = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
        found = wrapped.graph
        function = wrapped.prune(
            [found.get_tensor_by_name(f"{name}:0") for name in inputs], [f"{name}:0" for name in outputs]
        )
        tensors = [found.get_tensor_by_name(f"{name}:0") for name in inputs]
        super().__init__(
            request,
            f"tensorflow {tf.__version__}",
            lambda given: flat(function(*given)),
            [described(name, tensor.shape, tensor.dtype.name) for name, tensor in zip(inputs, tensors)],
            outputs,
            int(
                sum(numpy.prod([dim.size for dim in node.attr["value"].tensor.tensor_shape.dim]) for node in graph.node)
            ),
        )


QUIET = ("NoOp", "Assert", "Const", "Placeholder")
FORMATS = {"keras": Keras, "keras-h5": Keras, "saved-model": SavedModel, "frozen-graph": FrozenGraph}


def chosen(signatures, wanted):
    """The signature that was asked for, the usual one, or the only one."""
    if wanted in signatures:
        return signatures[wanted]
    known = ", ".join(sorted(signatures)) or "none"
    if wanted is not None:
        raise Fault("model", f"the SavedModel has no signature {wanted!r} (convert.signature), it has: {known}")
    if "serving_default" in signatures:
        return signatures["serving_default"]
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    raise Fault("model", f"name one of the SavedModel's signatures in convert.signature; it has: {known}")


def legacy(request, error):
    """An archive of Keras 2, which Keras 3 cannot always read."""
    if request["format"] == "keras-h5":
        try:
            import tf_keras

            model = tf_keras.models.load_model(request["weights"], compile=False, safe_mode=not request["trust"])
            return model, f"tf-keras {tf_keras.__version__}, tensorflow {tf.__version__}"
        except Exception as second:
            error = second if keras_archive.is_keras_2(request["weights"]) else error
    raise Fault(
        "model", f"{os.path.basename(request['weights'])} cannot be read as {request['format']}: {first_line(error)}"
    )


def names_of(model):
    """Of the outputs: what the layers are called that give them, where the model says so."""
    names = getattr(model, "output_names", None) or []
    return list(names) if len(set(names)) == len(model.outputs) else None


def nest(like, values):
    """The flat values in the structure of the model's inputs."""
    if isinstance(like, dict):
        return dict(zip(like, values))
    return list(values)


def described(name, shape, dtype):
    dims = [-1 if dim is None else int(dim) for dim in shape]
    return {"name": name, "dtype": tf.as_dtype(dtype).name, "shape": dims}
