"""A TensorRT engine for the GPU of this machine: model.plan, by NVIDIA's `trtexec`, which builds it and computes with it too.

What is free in the model is bounded in an engine: the bounds are those that the proof goes through (`request["profile"]`).
Numbers stay in the model's precision; TensorFloat-32, which is trtexec's default, would not hold them.
Source of the options and of how outputs are written: `trtexec --help`, samples/common/sampleInference.cpp of TensorRT 10.
"""

import os
import re
import shutil
import subprocess
import tempfile

import numpy

from trainyard.converter.workers.frame import Fault

PLAN = "model.plan"
PROGRAM = "trtexec"
VERSION = re.compile(r"TensorRT version: (\S+)|TensorRT v(\d+)")
LOADED = re.compile(r"First deserialization time = ([\d.]+) milliseconds")
QUOTED = re.compile(r"[:,]")
"""In a name these would end it, so it is put between quotes."""
UNSAFE = re.compile(r"[^A-Za-z0-9._,-]")
DTYPES = {
    "fp32": "float32",
    "fp16": "float16",
    "int64": "int64",
    "int32": "int32",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
}
"""As trtexec calls them in the names of what it dumps."""


def write(request, folder):
    command = build_command(program(request), request["onnx"], os.path.join(folder, PLAN), request["profile"])
    done = run(command, folder)
    if done.returncode or not os.path.exists(os.path.join(folder, PLAN)):
        raise Fault("export", f"trtexec does not build it: {complaint(done.stdout)}")


def load(request, folder):
    return Engine(request, os.path.join(folder, PLAN))


def program(request):
    """Its path. Raises Fault."""
    named = request.get("trtexec") or PROGRAM
    found = shutil.which(named)
    if found is None:
        raise Fault(
            "export",
            f"{named} is not there: install TensorRT on a machine with the GPU that will serve, put its trtexec on PATH or "
            "name it (TRAINYARD_TRTEXEC), and convert there",
        )
    return found


def build_command(path, onnx, plan, profile):
    """`profile`: name → {"min" | "opt" | "max": sizes}, of the inputs with something free."""
    command = [path, f"--onnx={onnx}", f"--saveEngine={plan}", "--noTF32", "--skipInference"]
    bounds = ("min", "opt", "max") if profile else ()
    return command + [
        f"--{bound}Shapes=" + shapes({name: sizes[bound] for name, sizes in profile.items()}) for bound in bounds
    ]


def infer_command(path, plan, free, files):
    """One run. `free`: name → sizes, of the inputs with something free; `files`: name → where its bytes lie."""
    command = [path, f"--loadEngine={plan}", "--iterations=1", "--warmUp=0", "--duration=0", "--dumpRawBindingsToFile"]
    if free:
        command.append("--shapes=" + shapes(free))
    return [*command, "--loadInputs=" + ",".join(f"{quoted(name)}:{file}" for name, file in files.items())]


def shapes(sizes):
    return ",".join(f"{quoted(name)}:{'x'.join(map(str, dims)) or 'scalar'}" for name, dims in sizes.items())


def quoted(name):
    return f"'{name}'" if QUOTED.search(name) else name


class Engine:
    def __init__(self, request, plan):
        self.plan = plan
        self.program = program(request)
        self.inputs = [item["name"] for item in request["inputs"]]
        self.outputs = [item["name"] for item in request["outputs"]]
        self.free = set(request["profile"])
        self.framework = "tensorrt"
        # Its exit code only says whether the first time was slower than the others.
        loaded = LOADED.search(
            run([self.program, f"--loadEngine={plan}", "--timeDeserialize"], os.path.dirname(plan)).stdout
        )
        self.note = f"loads in {float(loaded[1]):.1f} ms" if loaded else ""

    def compute(self, inputs):
        with tempfile.TemporaryDirectory() as folder:
            given = dict(zip(self.inputs, inputs))
            files = {name: f"input_{at}.raw" for at, name in enumerate(given)}
            for name, file in files.items():
                numpy.ascontiguousarray(given[name]).tofile(os.path.join(folder, file))
            free = {name: array.shape for name, array in given.items() if name in self.free}
            done = run(infer_command(self.program, self.plan, free, files), folder)
            if done.returncode:
                raise Fault("export", complaint(done.stdout))
            told = VERSION.search(done.stdout)
            self.framework = f"tensorrt {told[1] or told[2]}" if told else self.framework
            return [dumped(folder, name) for name in self.outputs]


def dumped(folder, name):
    """The output that lies in `<name>.output.<sizes with points>.<type>.raw`. Raises Fault."""
    start = UNSAFE.sub("_", f"{name}.output.")
    found = [file for file in os.listdir(folder) if file.startswith(start) and file.endswith(".raw")]
    if len(found) != 1:
        raise Fault("export", f"trtexec has written {len(found)} files for the output {name!r}, one is wanted")
    *sizes, kind = [part for part in found[0][len(start) : -len(".raw")].split(".") if part]
    if kind.lower() not in DTYPES:
        raise Fault("export", f"the output {name!r} is {kind}, which is not known here")
    values = numpy.fromfile(os.path.join(folder, found[0]), DTYPES[kind.lower()])
    return values.reshape([int(size) for size in sizes])


def run(command, folder):
    """Both of its streams as text, in `stdout`."""
    return subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )


def complaint(text):
    """The first of its errors, without when it was told."""
    errors = [line.partition("[E] ")[2] for line in text.splitlines() if "[E] " in line]
    return " ".join((errors or text.strip().splitlines()[-1:] or ["without a word"])[0].split())[:400]
