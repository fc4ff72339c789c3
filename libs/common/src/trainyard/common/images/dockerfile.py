"""A recipe as a Dockerfile: the same locked packages as on a machine, with the facts of the image as labels.

Pure. Whoever builds it pushes it to a registry of their own and pins the digest (`yard images pin`): the catalogue then
names one content for ever, and a tag that moves changes nothing.
"""

from __future__ import annotations

import json

from trainyard.common.images.catalogue import Recipe

LABEL = "io.trainyard.image."
UV = "uv==0.11.*"
"""Installs torch's builds for one accelerator by name (`--torch-backend cu126`): no index needs to be named."""


def labels(recipe: Recipe) -> dict[str, str]:
    """What the matrix reads of an image without pulling it."""
    return {
        "org.opencontainers.image.title": recipe.name,
        "org.opencontainers.image.version": recipe.version,
        f"{LABEL}framework": recipe.framework,
        f"{LABEL}version": recipe.version,
        f"{LABEL}accelerators": ",".join(recipe.accelerators),
        **({f"{LABEL}features": ",".join(recipe.features)} if recipe.features else {}),
        **{f"{LABEL}{name}": value for name, value in sorted(recipe.container.labels.items())},
    }


def render(recipe: Recipe) -> str:
    """The text of the Dockerfile; its context is the image's folder of the catalogue."""
    lines = [
        f"# {recipe.name}: written by `yard images dockerfile {recipe.name}`.",
        f"FROM {recipe.container.base}",
        *(f"LABEL {name}={json.dumps(value)}" for name, value in labels(recipe).items()),
    ]
    if recipe.container.packages:
        packages = " ".join(recipe.container.packages)
        lines.append(
            f"RUN apt-get update && apt-get install -y --no-install-recommends {packages} "
            "&& rm -rf /var/lib/apt/lists/*"
        )
    lines += [
        "ENV UV_NO_CACHE=1 UV_SYSTEM_PYTHON=1 PYTHONUNBUFFERED=1",
        f"RUN pip install --no-cache-dir '{UV}'",
    ]
    if recipe.lock:
        lines += [
            "COPY requirements.lock /tmp/requirements.lock",
            "RUN uv pip install --no-deps --require-hashes -r /tmp/requirements.lock && rm /tmp/requirements.lock",
        ]
    if recipe.cpu_build:
        lines.append(f"RUN uv pip install --no-deps --torch-backend cpu {' '.join(map(json.dumps, recipe.cpu_build))}")
    if recipe.container.install:
        given = "".join(f"{name}={json.dumps(value)} " for name, value in sorted(recipe.container.environment.items()))
        backend = f"--torch-backend {recipe.container.torch_backend} " if recipe.container.torch_backend else ""
        lines.append(f"RUN {given}uv pip install {backend}{' '.join(map(json.dumps, recipe.container.install))}")
    lines += [
        "RUN useradd --create-home --uid 1000 job",
        "USER job",
        "WORKDIR /job",
    ]
    return "\n".join(lines) + "\n"
