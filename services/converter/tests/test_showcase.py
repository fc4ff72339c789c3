"""`examples/resnet50-tf-to-torch` on real pictures, with random weights: those of ImageNet are downloaded by who runs it."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from trainyard.client.converting import conversion
from trainyard.common.images import cache, catalogue
from trainyard.converter.conversion import Proven
from trainyard.converter.preparation import Tools

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "resnet50-tf-to-torch"


@pytest.fixture(scope="module")
def python(images: Path) -> Callable[[str], Path]:
    def find(environment: str) -> Path:
        recipe = catalogue.read(ROOT / "deploy" / "converters", environment)
        return cache.ensure(recipe, images, lambda words: None).python

    return find


@pytest.fixture
def pillow(tmp_path: Path) -> Path:
    """Ours, for the environment of TensorFlow, which has none and the same interpreter."""
    folder = tmp_path / "pillow"
    folder.mkdir()
    for name in ("PIL", "pillow.libs"):
        (folder / name).symlink_to(Path(sysconfig.get_path("platlib")) / name)
    return folder


async def test_the_same_five_classes_in_torch_as_in_keras(
    python: Callable[[str], Path],
    pillow: Path,
    real_tools: Tools,
    convert_files: Callable[..., Awaitable[Proven]],
    tmp_path: Path,
) -> None:
    pictures = next((python("classical").parents[1] / "lib").glob("python3*/site-packages/sklearn/datasets/images"))
    command = [python("tensorflow"), EXAMPLE / "make.py", *sorted(pictures.glob("*.jpg")), "--weights", "none"]
    subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(pillow)}, check=True)  # noqa: ASYNC221
    block = conversion(EXAMPLE / "convert.yaml", {}, tmp_path)["convert"]
    proven = await convert_files(real_tools, tmp_path, **block)
    command = [python("torch"), EXAMPLE / "look.py", proven.folder / "torch"]
    told = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)  # noqa: ASYNC221
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("Keras") == 2
