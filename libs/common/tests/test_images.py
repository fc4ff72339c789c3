"""Images are built once, never half, and never from a CUDA build; real uv, on wheels that are made here."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest

from trainyard.common.images import cache, pip_settings, uv
from trainyard.common.images.cache import ImageUnavailable
from trainyard.common.images.catalogue import Recipe
from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.wheels import wheel

CUDA = "Requires-Dist: nvidia-cublas-cu12==12.1; platform_system == 'Linux'\n"


def recipe(name: str = "tiny", python: str = ">=3.11") -> Recipe:
    return Recipe(name, "pytorch", "1.0", ("cpu",), python, "# nothing else\n", ("torchlet==1.0",))


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place that packages come from: no index answers."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("TRAINYARD_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_OFFLINE", "1")
    return folder


def test_two_builders_share_one_build(tmp_path: Path, links: Path) -> None:
    wheel(links, "1.0+cpu")
    said: list[str] = []
    found: list[cache.Image] = []
    builders = [
        threading.Thread(target=lambda: found.append(cache.ensure(recipe(), tmp_path / "images", said.append)))
        for _ in range(3)
    ]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert [line for line in said if "making" in line] == ["image tiny: making the environment"]
    assert len(found) == 3
    assert len({image.python for image in found}) == 1
    assert found[0].python.exists()
    assert cache.find(recipe(), tmp_path / "images") == found[0]


def test_a_broken_build_leaves_nothing_and_the_next_one_works(tmp_path: Path, links: Path) -> None:
    images = tmp_path / "images"
    with pytest.raises(ImageUnavailable, match=r"no CPU build of torchlet==1.0 is to be had.*TRAINYARD_FIND_LINKS"):
        cache.ensure(recipe(), images, lambda _: None)
    assert [path.suffix for path in images.iterdir()] == [".lock"]
    wheel(links, "1.0+cpu")
    assert cache.ensure(recipe(), images, lambda _: None).python.exists()


def test_what_a_killed_builder_left_is_swept_away(tmp_path: Path, links: Path) -> None:
    wheel(links, "1.0+cpu")
    images = tmp_path / "images"
    half = images / f"tiny-{cache.key_of(recipe())}.building"
    (half / "bin").mkdir(parents=True)
    (half / "bin" / "python").write_text("half")
    built = cache.ensure(recipe(), images, lambda _: None)
    assert built.python.resolve() == Path(sys.executable).resolve()
    assert not half.exists()


def test_a_cuda_build_is_refused(tmp_path: Path, links: Path) -> None:
    wheel(links, "1.0", CUDA)
    with pytest.raises(ImageUnavailable, match="only a CUDA build, and this image is for the CPU"):
        cache.ensure(recipe(), tmp_path / "images", lambda _: None)


def test_an_image_whose_python_is_gone_is_built_again(tmp_path: Path, links: Path) -> None:
    wheel(links, "1.0+cpu")
    built = cache.ensure(recipe(), tmp_path / "images", lambda _: None)
    built.python.unlink()
    assert cache.find(recipe(), tmp_path / "images") is None
    assert cache.ensure(recipe(), tmp_path / "images", lambda _: None).python.exists()


def test_a_changed_recipe_is_another_image() -> None:
    assert cache.key_of(recipe()) == cache.key_of(recipe())
    assert cache.key_of(recipe()) != cache.key_of(recipe(python=">=3.10"))


@pytest.mark.usefixtures("links")
def test_faults_are_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(ImageUnavailable, match="it needs Python <3, the services run on 3"):
        cache.ensure(recipe(python="<3"), tmp_path / "images", lambda _: None)
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageUnavailable, match="image tiny cannot be built"):
        cache.ensure(recipe(), tmp_path / "file" / "images", lambda _: None)


def test_an_index_that_does_not_answer(tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_OFFLINE")
    wheel(links, "1.0+cpu")
    needy = Recipe("needy", "pytorch", "1.0", ("cpu",), ">=3.11", "six==1.17.0 --hash=sha256:" + "0" * 64, ())
    with pytest.raises(ImageUnavailable, match="the package index cannot be reached"):
        cache.ensure(needy, tmp_path / "images", lambda _: None)


async def test_cancelling_a_build_ends_it(tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that takes the connection and says nothing, as a broken mirror does."""
    monkeypatch.delenv("UV_OFFLINE")
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("TRAINYARD_FIND_LINKS", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        build = asyncio.create_task(cache.obtain(recipe(), tmp_path / "images", said.append))
        await eventually(lambda: any("torchlet" in line for line in said))
        build.cancel()
        with pytest.raises(asyncio.CancelledError):
            await build
        lock = next((tmp_path / "images").glob("*.lock"))
        await eventually(lambda: _is_free(lock))
    monkeypatch.setenv("TRAINYARD_FIND_LINKS", str(links))
    wheel(links, "1.0+cpu")
    assert (await cache.obtain(recipe(), tmp_path / "images", said.append)).python.exists()


def _is_free(lock: Path) -> bool:
    import fcntl  # noqa: PLC0415

    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.mark.parametrize(
    ("env", "config", "links", "index"),
    [
        ({"TRAINYARD_FIND_LINKS": "/a, /b"}, "", ["/a", "/b"], None),
        ({"PIP_FIND_LINKS": "/c"}, "[global]\nfind-links = /d\n", ["/c"], None),
        ({}, "[global]\nfind-links =\n    /d\n    /e\nindex-url = https://mirror/simple\n", ["/d", "/e"], "https://mirror/simple"),
        ({"UV_DEFAULT_INDEX": "https://mine"}, "[install]\nindex-url = https://mirror\n", [], "https://mine"),
        ({}, "this is no configuration", [], None),
    ],
)  # fmt: skip
def test_uv_follows_what_this_machine_tells_pip(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    env: dict[str, str],
    config: str,
    links: list[str],
    index: str | None,
) -> None:
    monkeypatch.setattr(pip_settings, "MACHINE", tmp_path / "none")
    (tmp_path / "pip.conf").write_text(config)
    machine = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PIP_INDEX_URL": "", "XDG_CONFIG_DIRS": "/none", **env}
    assert uv.find_links(machine) == links
    assert uv.environment(machine).get("UV_DEFAULT_INDEX") == index


def test_where_a_cpu_build_may_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    there = [where for where, _ in uv.sources({"TRAINYARD_FIND_LINKS": "/wheels"})]
    assert there == ["/wheels", "PyTorch's CPU index"]
    monkeypatch.setattr("sys.platform", "darwin")
    assert uv.sources({"TRAINYARD_FIND_LINKS": "/wheels"})[-1] == ("the default index", [])


def test_nothing_is_left_of_a_cache_that_was_deleted(tmp_path: Path, links: Path) -> None:
    wheel(links, "1.0+cpu")
    cache.ensure(recipe(), tmp_path / "images", lambda _: None)
    shutil.rmtree(tmp_path / "images")
    assert cache.find(recipe(), tmp_path / "images") is None
