"""In the environment `tensorflow`: Keras files that mean harm or are broken. `make_keras.py FOLDER`; code in them that runs
leaves FOLDER/HARM behind. They are written by hand: Keras itself would refuse some of them."""

import base64
import io
import json
import marshal
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np

folder = Path(sys.argv[1])
HARM = str(folder / "HARM")
CODE = compile(f"lambda x: (open({HARM!r}, 'w'), x)[1]", "<lambda>", "eval").co_consts[0]
MARSHALLED = base64.b64encode(marshal.dumps(CODE)).decode()
LAMBDA = {"class_name": "__lambda__", "config": {"value": [MARSHALLED, None, None]}}


def layer(kind, module="keras.layers", **config):
    return {"module": module, "class_name": kind, "config": {"name": kind.lower(), **config}, "registered_name": None}


def sequential(*layers, **first):
    given = layer("InputLayer", **(first or {"batch_shape": [None, 3]}))
    return {"class_name": "Sequential", "module": "keras", "config": {"name": "net", "layers": [given, *layers]}}


def hdf5(fill=lambda file: None):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        fill(file)
    return content.getvalue()


EMPTY = hdf5()


def keras_3(name, config, weights=EMPTY):
    """A .keras archive; `config`: what it says that the model is."""
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.0"}))
        archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        archive.writestr("model.weights.h5", weights)


def keras_2(name, config, fill=lambda file: None, version="2.15.0"):
    with h5py.File(folder / name, "w") as file:
        file.attrs["model_config"] = config if isinstance(config, str) else json.dumps(config)
        file.attrs["keras_version"], file.attrs["backend"] = version, "tensorflow"
        fill(file.create_group("model_weights"))


def dense(fill, name):
    """A layer whose kernel is what `fill(group)` puts there."""
    dense = layer("Dense", name="dense", units=2, use_bias=False)

    def weights(group):
        group.attrs["layer_names"] = [b"dense"]
        inner = group.create_group("dense")
        inner.attrs["weight_names"] = [b"kernel"]
        fill(inner)

    keras_2(name, sequential(dense), weights, "3.15.0")


def secret(name):
    """Six numbers in a file of their own: what a model may not read."""
    (folder / name).write_bytes(np.arange(6, dtype="float32").tobytes())
    return str(folder / name)


def elsewhere(group):
    with h5py.File(folder / "other.hdf", "w") as file:
        file["kernel"] = np.ones((3, 2), "float32")
    group["kernel"] = h5py.ExternalLink(str(folder / "other.hdf"), "/kernel")


def stored_elsewhere(group):
    group.create_dataset("kernel", (3, 2), "float32", external=secret("secret.bin"))


def virtual(group):
    elsewhere(group)
    del group["kernel"]
    layout = h5py.VirtualLayout((3, 2), "float32")
    layout[:] = h5py.VirtualSource(str(folder / "other.hdf"), "kernel", (3, 2))
    group.create_virtual_dataset("kernel", layout)


nothing = {"output_shape": None, "output_shape_type": "raw", "output_shape_module": None, "arguments": {}}
coded = layer("Lambda", function=[MARSHALLED, None, None], function_type="lambda", module="__main__", **nothing)
old = {"batch_input_shape": [None, 3]}
keras_3("lambda.keras", sequential(layer("Lambda", function=LAMBDA)))
keras_3("activation.keras", sequential(layer("Dense", units=2, activation=LAMBDA)))
gadget = {"module": "builtins", "class_name": "function", "config": "exec", "registered_name": "function"}
keras_3("builtin.keras", sequential(layer("Dense", units=2, activation=gadget)))
keras_3("foreign.keras", sequential(layer("system", "os", command=f"touch {HARM}")))
fetch = {"module": "keras.utils", "class_name": "function", "config": "get_file", "registered_name": "get_file"}
keras_3("utility.keras", sequential(layer("Dense", units=2, activation=fetch)))
keras_3("reading.keras", sequential(layer("StringLookup", vocabulary=secret("words"))))
keras_3("deep.keras", '{"class_name": "Sequential", "config": ' + "[" * 100_000 + "]" * 100_000 + "}")
keras_3("no_json.keras", "{")
keras_3("linked.keras", sequential(layer("Flatten")), hdf5(elsewhere))
keras_3("no_weights.keras", sequential(layer("Dense", units=2)), b"no HDF5")
own = {"module": "__main__", "class_name": "function", "config": "loss", "registered_name": "loss"}
trained = {"optimizer": {"module": "keras.optimizers", "class_name": "Adam", "config": {}}, "loss": own}
keras_3("whole.keras", dict(sequential(layer("Flatten")), compile_config=trained))
keras_3("inner.keras", sequential(dict(sequential(layer("Flatten")), compile_config=trained)))
with zipfile.ZipFile(folder / "whole.keras", "a") as archive:
    archive.writestr("assets/../../../HARM", "out")
    archive.writestr(HARM, "out")
system = {"module": "os", "class_name": "function", "config": "system", "registered_name": "system"}
keras_2(
    "foreign.h5", sequential(layer("ThresholdedReLU", theta=1.0), layer("Dense", units=2, activation=system), **old)
)
keras_2("lambda.h5", sequential(coded))
keras_2("old_lambda.h5", sequential(layer("ThresholdedReLU", theta=1.0), coded, **old))
given = dict(layer("InputLayer", **old), name="inputlayer", inbound_nodes=[])
operator = {"class_name": "TFOpLambda", "name": "op", "config": {"name": "op", "function": "io.write_file"}}
operator["inbound_nodes"] = [["_CONSTANT_VALUE", -1, HARM, {"contents": "harm"}]]
ends = {"input_layers": [["inputlayer", 0, 0]], "output_layers": [["inputlayer", 0, 0]]}
keras_2("operator.h5", {"class_name": "Functional", "config": {"name": "n", "layers": [given, operator], **ends}})
dense(elsewhere, "linked.h5")
dense(stored_elsewhere, "stored_elsewhere.h5")
dense(virtual, "virtual.h5")
dense(lambda group: group.create_dataset("kernel", (2**20, 2**20), "float32"), "huge.h5")
keras_2("deep.h5", '{"class_name": "Sequential", "config": ' + "[" * 20_000 + "]" * 20_000 + "}")
dense(lambda group: group.create_dataset("kernel", data=np.ones((3, 2), "float32")), "honest.h5")
