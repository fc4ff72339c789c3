"""Exports a PyTorch program whose unknown operators were rewritten first; names all of those that stay unknown."""

import glob
import os
import re

import torch

from trainyard.converter.workers import torch_decompositions
from trainyard.converter.workers.frame import Fault

MOST = 10
"""Operators that a refusal names."""


def export(model, example, path, options):
    """Writes `path`; gives what was rewritten, in words. `model`: a module or a program."""
    shapes = options.pop("dynamic_shapes", None)
    if not isinstance(model, torch.export.ExportedProgram):
        model = torch.export.export(model, example, dynamic_shapes=shapes, strict=False)
    try:
        program, names = torch_decompositions.rewritten(model)
    except torch_decompositions.Refused as error:
        raise Fault("export", f"it cannot be rewritten: {error}")
    folder = os.path.dirname(path)
    try:
        torch.onnx.export(program, (), path, report=True, artifacts_dir=folder, **options)
    except Exception:
        unknown = blocking(report(folder))
        if unknown:
            raise Fault("export", "no rewriting is known for " + ", ".join(unknown))
        if names:
            raise
    if not names:
        raise Fault("nothing", "none of its operators is one that can be rewritten")
    return "rewritten: " + ", ".join(name.removesuffix(".default") for name in names)


def report(folder):
    """What the exporter wrote about its own failure."""
    for path in glob.glob(os.path.join(folder, "onnx_export_*.md")):
        with open(path) as file:
            return file.read()
    return ""


def blocking(text):
    """Each operator that has no form in ONNX, with the line of the model's code that calls it first."""
    _, _, listed = text.partition("Errors grouped by operator:")
    operators = re.findall(r"^- `([\w.:]+)`:", listed, re.MULTILINE)
    lines = {}
    place = ""
    for line in text.splitlines():
        found = re.search(r"# .*?File: (\S+):(\d+) in ", line)
        if found:
            place = f" ({os.path.basename(found[1])}:{found[2]})"
        called = re.search(r"= torch\.ops\.([\w.]+)\(", line)
        if called:
            lines.setdefault(called[1], place)
    told = [name.removesuffix(".default") + lines.get(name, "") for name in operators]
    return [*told[:MOST], f"{len(told) - MOST} more"] if len(told) > MOST else told
