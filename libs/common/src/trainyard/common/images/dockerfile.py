"""A recipe as a Dockerfile: the same locked packages as on a machine, with the facts of the image as labels.

Pure. Whoever builds it pushes it to a registry of their own and pins the digest (`yard images pin`): the catalogue then
names one content for ever, and a tag that moves changes nothing.
"""

from __future__ import annotations

import json

from trainyard.common.images.catalogue import Recipe

LABEL = "io.trainyard.image."
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of CPU builds; the build argument TORCH_INDEX names another."""


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
    lines.append("ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1")
    if recipe.lock:
        lines += [
            "COPY requirements.lock /tmp/requirements.lock",
            "RUN pip install --no-deps --require-hashes -r /tmp/requirements.lock && rm /tmp/requirements.lock",
        ]
    if recipe.cpu_build:
        lines += [
            f"ARG TORCH_INDEX={CPU_INDEX}",
            f'RUN pip install --no-deps --index-url "$TORCH_INDEX" {" ".join(map(json.dumps, recipe.cpu_build))}',
        ]
    if recipe.container.install:
        given = "".join(f"{name}={json.dumps(value)} " for name, value in sorted(recipe.container.environment.items()))
        lines.append(f"RUN {given}pip install {' '.join(map(json.dumps, recipe.container.install))}")
    lines += [
        "RUN useradd --create-home --uid 1000 job",
        "USER job",
        "WORKDIR /job",
    ]
    return "\n".join(lines) + "\n"
