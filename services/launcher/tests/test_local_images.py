"""Images as the launcher sees them while they grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainyard.common.images import cache, catalogue
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.local.images import LocalImages

RECIPE = """
name = "tiny"
framework = "generic"
version = "1"
accelerators = ["cpu"]
[local]
python = ">=3.11"
lock = "requirements.lock"
size = 1
"""


def write(folder: Path) -> None:
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "image.toml").write_text(RECIPE)
    (folder / "tiny" / "requirements.lock").write_text("# nothing\n")


async def test_how_much_of_an_image_is_there(tmp_path: Path) -> None:
    write(tmp_path / "catalogue")
    images = LocalImages(tmp_path / "catalogue", tmp_path / "images")
    assert await images.fraction("tiny") == 0.0
    growing = cache.building(catalogue.read(tmp_path / "catalogue", "tiny"), tmp_path / "images")
    growing.mkdir(parents=True)
    (growing / "half").write_bytes(b"x" * 500_000)
    assert await images.fraction("tiny") == 0.5
    (growing / "more").write_bytes(b"x" * 900_000)
    assert await images.fraction("tiny") == 1.0


async def test_a_waiting_job_is_told_how_far_its_image_is(world: Any) -> None:
    write(world.catalogue)
    job = await world.submit("true", image="tiny")
    await world.until(job, "succeeded", within=60)
    kinds = await world.kinds(job)
    assert kinds[:3] == ["submitted", "resolved", "queued"]
    queued = [item.event async for item in world.bus.history("job", job) if item.event.kind == "queued"]
    assert queued[0].message == "image tiny is being built (first use)"
    assert queued[0].fraction is not None
    again = await world.submit("true", image="tiny")
    await world.until(again, "succeeded", within=60)
    await eventually(lambda: _has_ended(world, again))
    assert "queued" not in await world.kinds(again)


async def _has_ended(world: Any, job: str) -> bool:
    return "succeeded" in await world.kinds(job)
