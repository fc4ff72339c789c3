"""Keras files before they are loaded: whether they bring code, or reach other files.

Keras refuses some of this by itself, but not in files of Keras 2, which another library reads and which has no such mode. A
file is looked through by all of the readers that may get it: one that is a zip archive and HDF5 as well, by both.
"""

import builtins
import io
import json
import os
import zipfile

import h5py

from trainyard.converter.workers.frame import Fault, first_line

MODELING = {
    "activations", "constraints", "dtype_policies", "initializers", "layers", "losses", "metrics", "models", "ops",
    "optimizers", "quantizers", "random", "regularizers", "engine", "mixed_precision",
}  # fmt: skip
"""Modules of Keras that what a model is made of comes from."""
COMPUTING = {
    "__operators__",
    "bitwise",
    "dtypes",
    "image",
    "linalg",
    "math",
    "nn",
    "ragged",
    "random",
    "signal",
    "strings",
}
"""Modules of TensorFlow whose functions compute. Those at its top do too, but for the ones that follow."""
REACHING = {"function", "import_graph_def", "load_library", "load_op_library", "numpy_function", "print", "py_function"}
METHODS = {"ClassMethod", "InstanceMethod", "InstanceProperty", "TensorFlowOpLayer"}
"""Layers of Keras 2 that call whatever they name."""
HARMLESS = {"abs", "max", "min", "pow", "round", "sum"}
"""Functions of Python that are called like some of Keras."""
LARGEST = 64 * 2**20
"""Bytes of a model's configuration."""


def harmless(request):
    """Refuses what reads other files; and what brings code, or uses functions that reach files, unless it is trusted."""
    path = request["weights"]
    name = os.path.basename(path)
    try:
        for config in list(configs(path)):
            if not request["trust"]:
                look_through(name, config)
    except Fault:
        raise
    except Exception as error:  # of zip, HDF5 and JSON
        raise Fault("model", f"{name} cannot be read as {request['format']}: {first_line(error)}")


def configs(path):
    """What the file says that the model is, once its weights are known to lie in it."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.filename == "config.json" and member.file_size > LARGEST:
                    raise ValueError(f"its config.json has {member.file_size} bytes")
                if member.filename.endswith(".h5"):
                    with h5py.File(io.BytesIO(archive.read(member))) as file:
                        inside(os.path.basename(path), file)
            config = json.loads(archive.read("config.json"))
            if isinstance(config, dict):  # how the whole was trained is not read: its loss may be anybody's
                config.pop("compile_config", None)
            yield config
    if h5py.is_hdf5(path):
        with h5py.File(path) as file:
            inside(os.path.basename(path), file)
            if "model_config" in file.attrs:
                yield json.loads(file.attrs["model_config"])


def inside(name, file):
    """Refuses weights that lie in other files."""
    groups, seen = [file], set()
    while groups:
        group = groups.pop()
        for key in group:
            kind = group.get(key, getclass=True, getlink=True)
            place = f"{name}: the weights {group.name.rstrip('/')}/{key}"[:200]
            if kind is h5py.ExternalLink:
                raise Fault("model", f"{place} lie in another file: save the model as one file")
            if kind is not h5py.HardLink:
                continue  # to somewhere else in this file
            item = group[key]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise Fault("model", f"{place} lie in another file: save the model as one file")
            if isinstance(item, h5py.Group) and item.id not in seen:
                seen.add(item.id)
                groups.append(item)


def is_keras_2(path):
    """Whether an HDF5 file says that it was written before Keras 3."""
    with h5py.File(path) as file:
        return str(file.attrs.get("keras_version", "2")).startswith(("1", "2"))


def look_through(name, config):
    """Refuses code, and names of what is no part of a model."""
    waiting = [config]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fault = reaches(item)
            if fault:
                raise Fault("model", f"{name} {fault}; convert.trust lets it")
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def reaches(item):
    """What is wrong with a part of a configuration, in words; empty where it only computes."""
    kind, module = item.get("class_name"), item.get("module")
    config = item.get("config")
    inner = config if isinstance(config, dict) else {}
    called = config if kind == "function" else kind
    if kind in ("Lambda", "__lambda__"):
        return "holds code (a Lambda layer)"
    if kind in METHODS or (kind in ("TFOpLambda", "SlicingOpLambda") and not computes(inner.get("function"))):
        return f"calls {inner.get('function') or kind}, which may reach files or code"
    if kind and module == "builtins" and hasattr(builtins, str(called)) and called not in HARMLESS:
        return f"calls Python's {called}"
    if kind and module not in (None, "builtins") and not models(module):
        return f"takes {called} from {module}, which is no part of Keras that models are made of"
    if isinstance(inner.get("vocabulary"), str):
        return f"reads its vocabulary from {inner['vocabulary']}"
    return ""


def computes(symbol):
    """Whether a function of TensorFlow, by its public name, is known to reach nothing."""
    first, _, rest = str(symbol).removeprefix("compat.v1.").partition(".")
    return first in COMPUTING if rest else first not in REACHING


def models(module):
    """Whether models are made of what is in a module."""
    first, *rest = str(module).removeprefix("tensorflow.").split(".")
    rest = rest[1:] if rest[:1] == ["src"] else rest
    return first in ("keras", "tf_keras") and (not rest or rest[0] in MODELING)
