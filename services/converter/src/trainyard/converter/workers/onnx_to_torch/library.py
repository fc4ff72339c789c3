"""The operator functions: which there are, and the source of those that a model calls, with what they call in turn."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil

from . import operators

HEADER = '''"""What the operators of ONNX mean in torch. Only those that the model beside it calls."""

import math

import torch
from torch.nn import functional as F
'''


def _modules():
    for found in sorted(pkgutil.iter_modules(operators.__path__), key=lambda one: one.name):
        yield importlib.import_module(f"{operators.__name__}.{found.name}")


class Library:
    def __init__(self):
        self.functions = {}
        self._sources = {}
        self._calls = {}
        for module in _modules():
            source = inspect.getsource(module)
            for item in ast.parse(source).body:
                if isinstance(item, ast.FunctionDef):
                    name = item.name
                elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
                    name = item.targets[0].id
                else:
                    continue
                self._sources[name] = ast.get_source_segment(source, item)
                self._calls[name] = {one.id for one in ast.walk(item) if isinstance(one, ast.Name)} - {name}
                if name[0].isupper() and isinstance(item, ast.FunctionDef):
                    self.functions[name] = getattr(module, name)
        self.signatures = {name: inspect.signature(one) for name, one in self.functions.items()}

    def source(self, wanted):
        needed, queue = set(), list(wanted)
        while queue:
            name = queue.pop()
            if name in self._sources and name not in needed:
                needed.add(name)
                queue.extend(self._calls[name])
        picked = [text for name, text in self._sources.items() if name in needed]
        return HEADER + "".join(f"\n\n{text}\n" for text in picked)
