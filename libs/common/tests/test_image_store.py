"""What people see and do with images: the cache's contents, Dockerfiles, locks and pins."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.common.images import cache, catalogue, dockerfile, editing, store
from trainyard.common.images.catalogue import Container, Recipe
from trainyard.common.testing.wheels import wheel

RECIPE = Recipe("tiny", "pytorch", "2.1", ("cpu", "gpu"), ">=3.11", "six==1.17.0 --hash=sha256:0\n", ("torch==2.1",))

SHIPPED = Path(__file__).resolve().parents[3] / "deploy" / "images"


def built(images: Path, recipe: Recipe, suffix: str = "") -> Path:
    folder = images / f"{recipe.name}-{cache.key_of(recipe)}{suffix}"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    if not suffix:
        (folder / "ready.json").write_text(json.dumps({"name": recipe.name, "version": recipe.version}))
    return folder


def test_what_lies_in_the_cache(tmp_path: Path) -> None:
    ready, old = built(tmp_path, RECIPE), built(tmp_path, replace(RECIPE, version="1.0"))
    half, growing = (built(tmp_path, replace(RECIPE, name=name), ".building") for name in ("broken", "growing"))
    with growing.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        states = {item.folder: item.state for item in store.stored(tmp_path, [RECIPE])}
        assert states == {ready: "ready", old: "old", half: "broken", growing: "building"}
        gone, kept = store.prune(tmp_path, [RECIPE])
        assert {item.folder for item in gone} == {old, half}
        assert kept == []
        assert ready.exists()
        assert growing.exists()


def test_an_image_that_a_process_runs_from_stays(tmp_path: Path) -> None:
    folder = built(tmp_path, RECIPE)
    with subprocess.Popen([folder / "bin" / "python", "-c", "input()"], stdin=subprocess.PIPE) as process:
        gone, kept = store.prune(tmp_path, [], everything=True)
        assert (gone, [item.folder for item in kept]) == ([], [folder])
        process.communicate(b"\n")
    gone, _ = store.prune(tmp_path, [RECIPE], everything=True)
    assert [item.folder for item in gone] == [folder]
    assert not list(tmp_path.glob("*.deleted"))
    assert store.stored(tmp_path / "none", [RECIPE]) == []


def test_what_a_killed_prune_left_goes_with_the_image_that_was_built_again(tmp_path: Path) -> None:
    folder, left = built(tmp_path, RECIPE), built(tmp_path, RECIPE, ".deleted")
    for which in (folder, left):
        (which / "file").touch()
    store.prune(tmp_path, [RECIPE], everything=True)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_an_image_counts_by_its_folder_whatever_a_full_disk_made_of_its_marker(tmp_path: Path) -> None:
    folder = built(tmp_path, RECIPE)
    (folder / "ready.json").write_text("")
    assert [(item.name, item.state) for item in store.stored(tmp_path, [RECIPE])] == [("tiny", "ready")]


@pytest.mark.parametrize("name", ["torch2.1", "../tiny", "a/b", "Tiny", "-tiny"])
def test_an_image_is_named_so_that_it_can_name_a_folder(tmp_path: Path, name: str) -> None:
    image = write(tmp_path, 'not_local = "because"\n')
    (image / "image.toml").write_text((image / "image.toml").read_text().replace('"tiny"', f'"{name}"'))
    with pytest.raises(TrainyardError, match="should match pattern"):
        catalogue.read_all(tmp_path)


def test_a_catalogue_that_is_no_text_or_names_no_version_is_told_by_its_image(tmp_path: Path) -> None:
    image = write(tmp_path, '[local]\npython = ">=3.11"\nlock = "requirements.lock"\n')
    (image / "requirements.lock").write_bytes(b"\xff")
    with pytest.raises(TrainyardError, match=r"image tiny cannot be used.*can't decode"):
        catalogue.read_all(tmp_path)
    (image / "requirements.lock").write_text("")
    (image / "image.toml").write_text((image / "image.toml").read_text().replace('version = "1"', 'version = "one"'))
    with pytest.raises(TrainyardError, match=r"image tiny cannot be used(.|\n)*Invalid version: 'one'"):
        catalogue.read_all(tmp_path)


def test_a_dockerfile_carries_the_facts() -> None:
    recipe = replace(
        RECIPE, features=("bf16",), container=Container("debian:12", None, None, {"cuda": "12.6"}, ("g++",))
    )
    text = dockerfile.render(recipe)
    assert text.splitlines()[1] == "FROM debian:12"
    assert 'LABEL io.trainyard.image.cuda="12.6"' in text
    assert 'LABEL io.trainyard.image.features="bf16"' in text
    assert "apt-get install -y --no-install-recommends g++" in text
    assert "--require-hashes" in text
    assert 'uv pip install --no-deps --torch-backend cpu "torch==2.1"' in text
    assert text.index("requirements.lock") < text.index("torch==2.1") < text.index("USER job")


def write(folder: Path, text: str) -> Path:
    image = folder / "tiny"
    image.mkdir()
    (image / "image.toml").write_text(f'name = "tiny"\nframework = "x"\nversion = "1"\naccelerators = ["cpu"]\n{text}')
    return image


def test_a_digest_is_pinned_and_pinned_again(tmp_path: Path) -> None:
    image = write(tmp_path, 'not_local = "because"\n')
    for digit in "ab":
        editing.pin(image, f"registry.example/tiny@sha256:{digit * 64}")
    assert catalogue.read(tmp_path, "tiny").container.pinned == f"registry.example/tiny@sha256:{'b' * 64}"
    with pytest.raises(InvalidInput, match="has no digest"):
        editing.pin(image, "registry.example/tiny:latest")


@pytest.mark.parametrize("image", sorted(path.parent.name for path in SHIPPED.glob("*/image.toml")))
def test_every_image_that_ships_can_be_pinned(image: str, tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / image, tmp_path / image)
    editing.pin(tmp_path / image, f"registry.example/{image}@sha256:{'c' * 64}")
    assert catalogue.read(tmp_path, image).container.pinned == f"registry.example/{image}@sha256:{'c' * 64}"


def test_an_image_says_how_it_is_made_or_why_not(tmp_path: Path) -> None:
    write(tmp_path, "")
    with pytest.raises(TrainyardError, match=r"either a .local. recipe or `not_local`"):
        catalogue.read_all(tmp_path)


def test_what_cannot_be_built_here_is_known_before(tmp_path: Path) -> None:
    write(tmp_path, 'not_local = "there are no wheels"\n')
    recipe = catalogue.read(tmp_path, "tiny")
    assert cache.obstacle(recipe) == "there are no wheels"
    with pytest.raises(cache.ImageUnavailable, match="image tiny cannot be built: there are no wheels"):
        cache.ensure(recipe, tmp_path / "images", lambda _: None)
    assert cache.obstacle(RECIPE) is None
    old = replace(RECIPE, python="==2.7.*")
    assert "it needs Python ==2.7.*, the services run on 3" in (cache.obstacle(old) or "")


def test_a_new_image_is_locked_before_the_catalogue_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = write(tmp_path, '[local]\npython = ">=3.11"\nlock = "requirements.lock"\n')
    assert catalogue.lockable(tmp_path) == []
    (image / "requirements.in").write_text("torchlet==1.0\n")
    wheel(tmp_path / "wheels", "1.0")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(TrainyardError, match="image tiny is not locked yet: run `yard images lock tiny`"):
        catalogue.read_all(tmp_path)
    assert catalogue.lockable(tmp_path) == ["tiny"]
    assert editing.lock(image)
    assert catalogue.read(tmp_path, "tiny").lock == (image / "requirements.lock").read_text()
    assert str(tmp_path) not in (image / "requirements.lock").read_text()
    assert not editing.lock(image), "nothing has changed"


def test_a_lock_needs_its_wishes(tmp_path: Path) -> None:
    with pytest.raises(TrainyardError, match="in is missing"):
        editing.lock(write(tmp_path, 'not_local = "x"\n'))
