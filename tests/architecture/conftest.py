"""What the lists of reported faults look tests up in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tests_below() -> Callable[[Path], Iterator[tuple[str, Path]]]:
    """Every test of the files in a folder and below: its name, its file."""

    def find(home: Path) -> Iterator[tuple[str, Path]]:
        for file in home.rglob("test_*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    yield node.name, file

    return find
