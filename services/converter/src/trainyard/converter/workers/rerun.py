"""One step of a conversion once more: `python rerun.py` lists them, `python rerun.py 2` does the second. Lies beside what the
conversion has made, in `scripts/`; wants the environment that the list names, and nothing of Trainyard.

What a step makes is compared with what lies here: the same bytes, or the same numbers as the framework's own on the inputs
that were kept. Exit code 1: something differs.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
RESULT = os.path.dirname(HERE)


def main():
    parser = argparse.ArgumentParser(description="One step of a conversion once more.")
    parser.add_argument("step", nargs="?", type=int, help="its number; without one the steps are listed")
    parser.add_argument("--weights", help="the file or folder of the model, where it lies elsewhere now")
    parser.add_argument("--workdir", help="the code of the model, where it lies elsewhere now")
    parser.add_argument("--onnx", help="the ONNX model that goes in, of a step whose own is not kept")
    parser.add_argument("--into", help="folder for what is made; without one it is looked at and thrown away")
    given = parser.parse_args()
    with open(os.path.join(HERE, "steps.json")) as file:
        steps = json.load(file)
    if given.step is None:
        for number, step in enumerate(steps, 1):
            print(f"{number}  {step['name']}  (environment: {step['environment']})")
        return 0
    if not 1 <= given.step <= len(steps):
        parser.error(f"there are the steps 1 to {len(steps)}")
    step = steps[given.step - 1]
    if step["request"] is None:
        return compared(os.path.join(RESULT, step["makes"]))
    with tempfile.TemporaryDirectory() as scratch:
        return done(step, given, os.path.abspath(given.into or scratch))


def done(step, given, folder):
    """The worker of this step, in this interpreter."""
    os.makedirs(folder, exist_ok=True)
    library = os.path.join(folder, "lib")
    with zipfile.ZipFile(os.path.join(HERE, "workers.zip")) as archive:
        archive.extractall(library)
    request = {**filled(step["request"]), "waits": False, "paths": [library]}
    request.update({name: value for name in ("weights", "workdir", "onnx") if (value := getattr(given, name))})
    if request.get("onnx", "") is None:
        print("name the model that goes in (--onnx): the one before makes it, with --into FOLDER")
        return 1
    with open(os.path.join(folder, "request.json"), "w") as file:
        json.dump(request, file)
    with (
        open(os.path.join(HERE, step["cases"]), "rb") as source,
        open(os.path.join(folder, "cases.npz"), "wb") as target,
    ):
        target.write(source.read())
    sys.path.insert(0, library)
    from trainyard.converter.workers.main import main as work

    work(folder)
    with open(os.path.join(folder, "answer.json")) as file:
        answer = json.load(file)
    if "fault" in answer:
        print(f"it fails: {answer['message']}")
        return 1
    print(f"made by {answer['framework']}")
    made, kept = os.path.join(folder, "model.onnx"), os.path.join(RESULT, step["makes"])
    if not os.path.exists(made):  # another format, which its worker has read back
        return answers(os.path.join(folder, "found.npz")) if step["compares"] else 0
    if os.path.exists(kept) and digest(made) == digest(kept):
        print(f"the same bytes as {step['makes']}")
        return 0
    print(f"other bytes than {step['makes']}")
    return compared(made) if step["compares"] else 1


def filled(value):
    """With the folder of the result in its place."""
    if isinstance(value, dict):
        return {name: filled(item) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item) for item in value]
    return value.replace("{result}", RESULT) if isinstance(value, str) else value


def compared(model):
    """What the model computes under onnxruntime with the framework's own answers."""
    import numpy

    try:
        import onnxruntime
    except ImportError:
        print("to compare its numbers, install scripts/requirements.txt (here, or elsewhere for the first step)")
        return 1
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    takes = [item.name for item in session.get_inputs()]
    cases = {}
    with numpy.load(os.path.join(HERE, "cases.npz")) as stored:
        for key in stored.files:
            case, _, name = key.partition("/")
            cases.setdefault(case, {})[name] = stored[key]
    found = {}
    for case, inputs in cases.items():
        values = session.run(names, {name: inputs[name] for name in takes})
        found.update({f"{case}/{name}": value for name, value in zip(names, values)})
    return told(found)


def answers(path):
    import numpy

    with numpy.load(path) as stored:
        return told({key: stored[key] for key in stored.files})


def told(found):
    """Says how far off it is, by the bounds that the conversion was held to."""
    import numpy

    with open(os.path.join(HERE, "bounds.json")) as file:
        bounds = json.load(file)
    wrong, largest = 0, 0.0
    with numpy.load(os.path.join(HERE, "answers.npz")) as stored:
        for key in stored.files:
            right, value, (atol, rtol) = stored[key], found[key], bounds[key]
            if right.dtype.kind not in "fc":
                same = numpy.array_equal(right, value.astype(right.dtype))
            else:
                right, value = (array.astype("c16" if array.dtype.kind == "c" else "f8") for array in (right, value))
                same = numpy.allclose(value, right, rtol=rtol, atol=atol, equal_nan=True)
                both = numpy.isfinite(right) & numpy.isfinite(value)
                largest = max(largest, float(numpy.abs(right - value)[both].max(initial=0.0)))
            if not same:
                wrong += 1
                print(f"{key} differs")
        print(f"{len(stored.files) - wrong} of {len(stored.files)} arrays are equal, largest difference {largest:.3g}")
    return 1 if wrong else 0


def digest(path):
    """Of the model, and of its weights where they lie beside it."""
    found = hashlib.sha256()
    for part in (path, path + ".data"):
        if os.path.exists(part):
            with open(part, "rb") as file:
                for piece in iter(lambda: file.read(2**20), b""):
                    found.update(piece)
    return found.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
