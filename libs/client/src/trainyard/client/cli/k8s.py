"""`yard k8s check | install`: Trainyard on a cluster, by the user's own Helm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from trainyard.client import cluster
from trainyard.client.cli import examining, output
from trainyard.client.cluster import Installation
from trainyard.common.errors import NotFound, TrainyardError

app = typer.Typer(help="Trainyard on a Kubernetes cluster.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Trainyard on a Kubernetes cluster."""


app.command("check")(examining.check)


@app.command()
def install(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be applied; no cluster is asked.")
    ] = False,
    values: Annotated[
        list[str] | None, typer.Option("--values", "-f", help="A file of values; may be repeated.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE; may be repeated.")] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where the services run.")] = "trainyard",
    kubeconfig: Annotated[str | None, typer.Option("--kubeconfig", help="Default: that of kubectl.")] = None,
    context: Annotated[str | None, typer.Option("--context", help="A context of the kubeconfig.")] = None,
    chart: Annotated[str | None, typer.Option("--chart", help="Default: the chart of this clone.")] = None,
    timeout: Annotated[str, typer.Option("--timeout", help="How long the services are waited for.")] = "10m",
) -> None:
    """Install the chart, or bring it up to date, and wait until everything runs."""
    wanted = Installation(
        _chart(chart), namespace, tuple(values or ()), tuple(settings or ()), kubeconfig, context, timeout
    )
    cluster.check_values(wanted)
    if shutil.which("helm") is None:
        raise NotFound("helm is not on PATH: install Helm 3.14 or newer (https://helm.sh/docs/intro/install/)")
    _dependencies(wanted.chart)
    if dry_run:
        output.console.out(_helm(wanted.template()), highlight=False)
        return
    output.console.out(_helm(wanted.upgrade()), highlight=False)


def _chart(named: str | None) -> str:
    """Raises NotFound where there is none."""
    if named is None:
        found = cluster.shipped_chart()
        if found is None:
            raise NotFound("there is no chart beside this installation: name one with --chart (deploy/helm/trainyard)")
        return str(found)
    path = Path(named)
    if "://" not in named and not path.is_file() and not (path / "Chart.yaml").is_file():
        raise NotFound(f"there is no chart at {named}: a chart is a folder with Chart.yaml, or an archive")
    return named


def _dependencies(chart: str) -> None:
    """Fetches what the chart stands on, once. Raises TrainyardError that names the command to do it by hand."""
    folder = Path(chart)
    missing = cluster.missing_dependencies(folder) if folder.is_dir() else []
    if not missing:
        return
    output.errors.print(f"fetching the chart of {', '.join(missing)}", markup=False)
    try:
        _helm(["helm", "dependency", "update", chart])
    except TrainyardError as error:
        raise TrainyardError(
            f"the chart needs {', '.join(missing)}, which could not be fetched ({error}): "
            f"run `helm dependency update {chart}` where there is a network"
        ) from error


def _helm(command: list[str]) -> str:
    """What it wrote. Raises TrainyardError in its words."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise cluster.fault(done.stderr or done.stdout)
    return done.stdout.rstrip()
