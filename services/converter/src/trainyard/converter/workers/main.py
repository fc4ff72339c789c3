"""The worker's way: a request file in, an answer file out; what a process can limit of itself is limited before any foreign
code is imported. The last line of defence is the parent (time, memory, the whole tree).

Each family's module has `load(request)`, which gives an object with
    framework, parameters     what computes ("torch 2.13.0"), and how many numbers it was trained to
    inputs, outputs           what the model itself says of them (name, dtype, shape), or None
    compute(inputs, case)     arrays by name → arrays by name; `case` is what a fault calls them
    export(rung, references, path)
and, where its format says one, `licence`, in its words, and `note`, what its export did that a reader should know.
Faults are answered as {"fault": kind, "message": …}; whatever else an exporter raises is one of this rung.
"""

import ctypes
import errno
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback

from trainyard.converter.workers.frame import Fault, gist, sentence

PR_SET_PDEATHSIG = 1
MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)


LOOK = 0.01
"""Seconds between two looks for the next request."""


def main(folder):
    """One request; after a look at a model also the next one, for which the framework need not be imported again. Its folder
    stands in the file `next`."""
    if answered(folder):
        following = os.path.join(folder, "next")
        while not os.path.exists(following):  # the parent ends who waits in vain
            time.sleep(LOOK)
        with open(following) as file:
            folder = file.read()
        os.remove(following)  # taken
        answered(folder)


def answered(folder):
    """Whether there is more to come."""
    with open(os.path.join(folder, "request.json")) as file:
        request = json.load(file)
    limit(request["limits"])
    try:
        answer = step(request)(request, folder)
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
    return request.get("waits", False) and "fault" not in answer


def limit(limits):
    if sys.platform == "linux":  # a parent that is killed takes this process along
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    resource.setrlimit(resource.RLIMIT_DATA, (limits["memory"], limits["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def step(request):
    if request.get("layers_of"):
        return layers
    if "task" in request:
        return lambda request, folder: family(request).answer(request, load_cases(folder), folder)
    if "target" in request:
        return write
    return check if "onnx" in request else convert


def family(request):
    return importlib.import_module("trainyard.converter.workers." + request["worker"])


def convert(request, folder):
    model = family(request).load(request)
    answer = {"framework": model.framework, "parameters": model.parameters}
    if request["rung"] is None:  # only what the model says of itself
        return dict(answer, inputs=model.inputs, outputs=model.outputs)
    began = time.monotonic()
    references = {case: model.compute(inputs, case) for case, inputs in load_cases(folder).items()}
    store(references, os.path.join(folder, "references.npz"))
    answer["reference_seconds"] = time.monotonic() - began
    exported = os.path.join(folder, "model.onnx")
    try:
        model.export(request["rung"], references, exported)
    except SystemExit as error:  # some exporters end the process that they were called in
        raise Fault("export", sentence(error))
    from trainyard.converter.workers import onnx_file  # after the framework, which may want to come before ONNX

    onnx_file.settle(exported, request["limits"]["inline"])
    told = {name: getattr(model, name, "") for name in ("licence", "note")}
    return dict(answer, output_names=list(next(iter(references.values()))), **told)


def layers(request, folder):
    """What each layer of the model gives for one input."""
    model = family(request).load(request)
    if not hasattr(model, "layers"):
        raise Fault("export", f"{request['format']} does not show its layers")
    (inputs,) = load_cases(folder).values()
    found = model.layers(inputs)
    import numpy

    numpy.savez(os.path.join(folder, "layers.npz"), **{f"{at:05d}": array for at, (_, array) in enumerate(found)})
    return {"framework": model.framework, "names": [name for name, _ in found]}


def write(request, folder):
    """In another format than ONNX: the files, and what they compute once they are read again."""
    writer = family(request)
    files = os.path.join(folder, "files")
    os.mkdir(files)
    writer.write(request, files)
    model = writer.load(request, files)
    takes, gives = ([item["name"] for item in request[side]] for side in ("inputs", "outputs"))
    found = {}
    for case, inputs in load_cases(folder).items():
        found[case] = dict(zip(gives, computed(model, [inputs[name] for name in takes], case)))
    store(found, os.path.join(folder, "found.npz"))
    return {"framework": model.framework, "note": getattr(model, "note", "")}


def computed(model, inputs, case):
    try:
        return model.compute(inputs)
    except Exception as error:  # of any framework
        raise Fault("export", f"what was written fails on {case}: {gist(error)}")


def check(request, folder):
    """What was exported: whether it is valid, and what it computes under the runtime that will serve it."""
    model = family(request).load(request)
    found = {case: model.compute(inputs, case) for case, inputs in load_cases(folder).items()}
    store(found, os.path.join(folder, "found.npz"))
    return model.described()


def load_cases(folder):
    import numpy

    cases = {}
    with numpy.load(os.path.join(folder, "cases.npz"), allow_pickle=False) as stored:
        for key in stored.files:
            case, _, name = key.partition("/")
            cases.setdefault(case, {})[name] = stored[key]
    return cases


def store(references, path):
    import numpy

    numpy.savez(
        path, **{f"{case}/{name}": value for case, values in references.items() for name, value in values.items()}
    )
