"""The whole way of a conversion for a file that is broken or means harm, under small limits, and what has to hold of each."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.images import Interpreters
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.adapters.worker_exporter import Interpreter, WorkerExporter
from trainyard.converter.conversion import Proven
from trainyard.converter.ports import ExportRequest
from trainyard.converter.preparation import ConversionFault, Tools

DEPLOY = Path(__file__).parents[4] / "deploy"
LIMITS = Limits(seconds=8, memory=2 * 2**30, file_bytes=2**28)
Refusal = Callable[..., Awaitable[str]]
Convert = Callable[..., Awaitable[Proven]]


@pytest.fixture(scope="session")
def make_files(
    images: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[..., Path]:
    """The folder that `make_NAME.py` fills, run once by an environment of `deploy/converters`, or by the image of torch.
    Code in its files that runs leaves HARM in the folder."""
    folders: dict[str, Path] = {}

    def make(name: str, environment: str | None = None) -> Path:
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            if environment is None:
                python = request.getfixturevalue("torch_python")
            else:
                recipe = catalogue.read(DEPLOY / "converters", environment)
                python = cache.ensure(recipe, images, lambda words: None).python
            maker = Path(__file__).parent / f"make_{name}.py"
            subprocess.run([python, "-W", "ignore", maker, folders[name]], check=True, timeout=200)
        return folders[name]

    return make


@pytest.fixture
def interpreter(images: Path, request: pytest.FixtureRequest) -> Interpreter:
    """What reads a format where the services run, built where it is missing."""
    known = Interpreters(DEPLOY / "images", DEPLOY / "converters", images)

    async def find(asked: ExportRequest) -> Path:
        if asked.source.environment is None:
            return Path(request.getfixturevalue("torch_python"))
        return await known.python(asked)

    return find


@pytest.fixture
def convert_file(interpreter: Interpreter, tools: Tools, convert_files: Convert, given: Path) -> Convert:
    """Converts what is `given` to ONNX. Keywords are those of `convert:`."""

    async def run(name: str, limits: Limits = LIMITS, **block: object) -> Proven:
        within = replace(tools, exporter=WorkerExporter(interpreter, limits), limits=limits)
        return await convert_files(within, given, **{"weights": name, "to": ["onnx"], **block})

    return run


@pytest.fixture
def refusal(convert_file: Convert, tmp_path: Path) -> Refusal:
    """What a conversion says that has to fail by the model's fault, in one line, leaving a report and nothing else."""

    async def run(name: str, **block: object) -> str:
        before = set(tmp_path.rglob("*"))
        with pytest.raises(ConversionFault) as caught:  # anything else would be tried again as trouble of the machine
            await convert_file(name, **block)
        words, report = str(caught.value), caught.value.report
        assert caught.value.reason in {"model", "export"}
        assert words.isprintable()
        assert "Traceback" not in words
        assert report is not None
        assert sorted(file.name for file in report.iterdir() if file.is_file()) == ["report.html", "report.json"]
        state = tmp_path / "state"
        assert [file for file in set(tmp_path.rglob("*")) - before if state not in (file, *file.parents)] == []
        return words

    return run


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """Where the files lie that are converted."""
    folder = tmp_path / "given"
    folder.mkdir()
    return folder
