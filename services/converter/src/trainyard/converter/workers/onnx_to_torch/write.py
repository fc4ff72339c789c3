"""Writes the folder: model.py, operators.py, model.safetensors."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
from safetensors.torch import save_file

from .emit import CONTROL, Emitter, Refused
from .library import Library
from .normalise import directly, normalise, opset

TEMPLATE = '''"""A model in PyTorch, written from ONNX. It needs torch and safetensors.

from model import load
model = load()                 # ready to infer; model.train() to train on
outputs = model({arguments})   # a tuple: {outputs}
"""

from pathlib import Path

import operators
import torch
from safetensors.torch import load_file


class Model(torch.nn.Module):
    def __init__(self, weights):
        super().__init__()
{members}

    def forward(self{parameters}):
{lines}


def load(folder=Path(__file__).parent):
    return Model(load_file(Path(folder) / "model.safetensors")).eval()
'''


def write(model, folder, library=None, through=directly):
    """Raises Refused with every node that blocks it. `through`: see `normalise`."""
    library = library or Library()
    origin = opset(model)
    model = normalise(model, {*library.functions, *CONTROL}, through)
    emitter = Emitter(library, opset(model), origin)
    try:
        parameters, lines = emitter.emit(model.graph)
    except Refused as fault:
        raise Refused(f"opset {opset(model)}: {fault}. Replace these nodes") from None
    members = [
        f"        self.{name} = torch.nn.Parameter(weights[{name!r}])"
        if name in emitter.trainable
        else f"        self.register_buffer({name!r}, weights[{name!r}])"
        for name in emitter.weights
    ]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in emitter.weights.items()}, folder / "model.safetensors")
    (folder / "operators.py").write_text(library.source(emitter.called))
    text = TEMPLATE.format(
        arguments=", ".join(parameters),
        outputs=lines[-1].strip().removeprefix("return ").rstrip(","),
        members="\n".join(members) or "        del weights",
        parameters="".join(f", {name}" for name in parameters),
        lines="\n".join(lines),
    )
    (folder / "model.py").write_text(text)
    return parameters


if __name__ == "__main__":
    try:
        write(onnx.load(sys.argv[1]), sys.argv[2])
    except Refused as refused:
        sys.exit(str(refused))
