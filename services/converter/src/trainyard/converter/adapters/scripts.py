"""Each step of a conversion as something that a person can do again: `scripts/`, beside what it has made.

A worker takes a request, inputs and its own code, so these are kept, with paths into the result named as such. The inputs are
generated ones, and what the framework answered to them; held-out samples stay where they are.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trainyard.worker
from trainyard.converter import workers
from trainyard.converter.adapters import sandbox, worker
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.gate import Comparison

FOLDER = "scripts"
OWN = f"{FOLDER}/requirements.txt"
"""The environment of the converter's own steps."""
COMMAND = "python scripts/rerun.py"
MOST = 64 * 2**20
"""Bytes of the inputs that are kept, at most."""


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    """Of the step in the report."""
    environment: str
    """What has to be installed, in words."""
    makes: str
    """File or folder that it made; relative to the result."""
    request: Mapping[str, Any] | None = None
    """Of the worker; None: what was made is run and compared."""
    compares: bool = True
    """Whether the inputs and answers that are kept are those of what it makes; else its bytes are compared."""
    calibration: Mapping[str, Case] | None = None
    """What the worker is given in place of the generated inputs."""


def write(
    result: Path,
    scripts: Sequence[Script],
    cases: Mapping[str, Case],
    answers: Mapping[str, Mapping[str, Array]],
    comparisons: Sequence[Comparison],
    tools: Mapping[str, str],
) -> None:
    """`answers`: the framework's own, by case."""
    folder = result / FOLDER
    folder.mkdir()
    kept = _kept(cases)
    worker.store(folder / "cases.npz", kept)
    worker.store(folder / "answers.npz", {case: answers[case] for case in kept})
    bounds = {f"{item.case}/{item.output}": (item.atol, item.rtol) for item in comparisons if item.case in kept}
    (folder / "bounds.json").write_text(json.dumps(bounds, indent=1))
    steps: list[dict[str, Any]] = []
    for number, script in enumerate(scripts, 1):
        inputs = "cases.npz"
        if script.calibration is not None:
            inputs = f"inputs-{number}.npz"
            worker.store(folder / inputs, script.calibration)
        request = None if script.request is None else _portable(script.request, result)
        steps.append(
            {
                "name": script.name,
                "environment": script.environment,
                "makes": script.makes,
                "compares": script.compares,
                "cases": inputs,
                "request": request,
            }
        )
    (folder / "steps.json").write_text(json.dumps(steps, indent=1))
    (folder / "requirements.txt").write_text("".join(f"{name}=={version}\n" for name, version in sorted(tools.items())))
    with zipfile.ZipFile(folder / "workers.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for package in (trainyard.worker, workers):
            source = Path(next(iter(package.__path__)))
            for file in sorted(source.rglob("*.py")):
                archive.write(file, Path(*package.__name__.split("."), file.relative_to(source)))
    shutil.copy2(Path(next(iter(workers.__path__))) / "rerun.py", folder / "rerun.py")


def command(number: int) -> str:
    return f"{COMMAND} {number}"


def _kept(cases: Mapping[str, Case]) -> dict[str, Case]:
    """Generated inputs, smallest batches first, as long as there is room: an exporter wants several batch sizes."""
    found: dict[str, Case] = {}
    used = 0
    for case, inputs in cases.items():
        used += sum(array.nbytes for array in inputs.values())
        if case.startswith("random") and used <= MOST:
            found[case] = inputs
    return found


def _portable(request: Mapping[str, Any], result: Path) -> dict[str, Any]:
    """Its paths into the result from wherever the result lies; its limits as usual."""
    limits = worker.bounds(sandbox.Limits())
    text = json.dumps({**request, "limits": limits})
    return dict(json.loads(text.replace(json.dumps(str(result))[1:-1], "{result}")))
