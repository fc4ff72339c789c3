"""`yard images list | show | build | prune | lock | pin | dockerfile`: the catalogue, and what of it is built here."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson
from trainyard.client.yard.layout import Layout
from trainyard.common.contract.explain import nearest
from trainyard.common.contract.quantities import human_bytes
from trainyard.common.errors import NotFound
from trainyard.common.images import cache, catalogue, dockerfile, editing, store
from trainyard.common.images.catalogue import Recipe

app = typer.Typer(
    help="Images of frameworks: environments on this machine, containers on a cluster.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="IMAGE", help="A name from `yard images list`.")]


@app.command("list")
def listing(as_json: AsJson = False) -> None:
    """Every image of the catalogue, and whether it is built on this machine."""
    rows = [_row(recipe) for recipe in catalogue.read_all(_catalogue())]
    if as_json:
        output.as_json({"images": rows})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("IMAGE", "FRAMEWORK", "VERSION", "RUNS ON", "HERE"):
        table.add_column(heading, no_wrap=heading != "HERE")
    for row in rows:
        table.add_row(row["name"], row["framework"], row["version"], "/".join(row["accelerators"]), row["here"])
    output.console.print(table)


@app.command()
def show(name: Name, as_json: AsJson = False) -> None:
    """One image: its facts, labels and packages."""
    recipe = _recipe(name)
    packages = [
        line.split(" ")[0] for line in recipe.lock.splitlines() if "==" in line and not line.startswith((" ", "#"))
    ]
    document = {**_row(recipe), "labels": dockerfile.labels(recipe), "packages": [*packages, *recipe.cpu_build]}
    if as_json:
        output.as_json(document)
        return
    for key, value in document.items():
        if isinstance(value, dict):
            for label, text in value.items():
                output.console.print(f"[bold]label[/bold] {label} = {text}")
        else:
            output.console.print(f"[bold]{key}[/bold] {', '.join(value) if isinstance(value, list) else value}")


@app.command()
def build(names: Annotated[list[str], typer.Argument(metavar="IMAGE…")], as_json: AsJson = False) -> None:
    """Build images on this machine before a job needs them. Built ones are left as they are."""
    built = []
    for recipe in [_recipe(name) for name in names]:
        image = _build(recipe)
        built.append({"name": image.name, "python": str(image.python)})
        if not as_json:
            output.console.print(f"{image.name} is ready: {image.python}")
    if as_json:
        output.as_json({"images": built})


@app.command()
def prune(
    everything: Annotated[bool, typer.Option("--all", help="Also images that the catalogue still has.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete images that no recipe asks for any more and what broken builds left; nothing that a process runs from."""
    gone, kept = store.prune(_images(), catalogue.read_all(_catalogue()), everything=everything)
    if as_json:
        output.as_json({"deleted": [item.folder.name for item in gone], "in_use": [item.folder.name for item in kept]})
        return
    for item in gone:
        output.console.print(f"deleted {item.folder.name} ({human_bytes(item.size)})")
    for item in kept:
        output.console.print(f"kept {item.folder.name}: a process runs from it")
    if not gone and not kept:
        output.console.print("nothing to delete")


@app.command()
def lock(
    names: Annotated[list[str] | None, typer.Argument(metavar="IMAGE…", help="Default: all.")] = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="To the newest versions that fit.")] = False,
) -> None:
    """Write requirements.lock anew from requirements.in."""
    folder = _catalogue()
    known = catalogue.lockable(folder)
    for name in names or known:
        if name not in known:
            raise NotFound(f"there is no requirements.in of an image {name!r}: {nearest(name, known)}")
        changed = editing.lock(folder / name, upgrade=upgrade)
        output.console.print(f"{name}: {'a new lock' if changed else 'unchanged'}")


@app.command()
def pin(name: Name, reference: Annotated[str, typer.Argument(help="registry/name@sha256:…")]) -> None:
    """Write into the catalogue where a container image was pushed, by digest."""
    editing.pin(_catalogue() / _recipe(name).name, reference)
    output.console.print(f"{name}: {catalogue.read(_catalogue(), name).container.pinned}")


@app.command("dockerfile")
def show_dockerfile(name: Name) -> None:
    """The image as a Dockerfile, on stdout. Build it in the image's folder of the catalogue."""
    output.console.out(dockerfile.render(_recipe(name)), end="", highlight=False)


def _build(recipe: Recipe) -> cache.Image:
    """With a bar on a terminal: bytes in the folder against what the recipe was measured at."""
    images = _images()
    if not output.errors.is_terminal or cache.find(recipe, images) is not None:
        return cache.ensure(recipe, images, lambda said: output.errors.print(said, markup=False))
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=output.errors, transient=True) as progress:
        task = progress.add_task(f"image {recipe.name}", total=recipe.size or None)
        done = threading.Event()
        folder = cache.building(recipe, images)

        def measure() -> None:
            while not done.wait(0.3):
                progress.update(task, completed=store.bytes_below(folder))

        watcher = threading.Thread(target=measure, daemon=True)
        watcher.start()
        try:
            return cache.ensure(recipe, images, lambda said: progress.update(task, description=said))
        finally:
            done.set()
            watcher.join()


def _row(recipe: Recipe) -> dict[str, Any]:
    built = not recipe.not_local and cache.find(recipe, _images()) is not None
    return {
        "name": recipe.name,
        "framework": recipe.framework,
        "version": recipe.version,
        "accelerators": list(recipe.accelerators),
        "features": list(recipe.features),
        "here": "built" if built else recipe.not_local or cache.obstacle(recipe) or "built at first use",
        "container": recipe.container.pinned or "not pushed yet",
    }


def _recipe(name: str) -> Recipe:
    try:
        return catalogue.read(_catalogue(), name)
    except NotFound as error:
        known = [recipe.name for recipe in catalogue.read_all(_catalogue())]
        raise NotFound(f"there is no image {name!r}: {nearest(name, known)}") from error


def _catalogue() -> Path:
    return catalogue.folder(os.environ)


def _images() -> Path:
    return Layout.read(os.environ).state / "images"
