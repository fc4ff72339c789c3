"""Findings on the terminal, and `yard k8s check`: whether Trainyard can be installed in a cluster, and how it fares there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape

from trainyard.client import examination
from trainyard.client.cli import exits, output
from trainyard.client.cli.context import AsJson
from trainyard.common.contract.findings import Finding

Kubeconfig = Annotated[
    str | None, typer.Option(help="Default: TRAINYARD_KUBECONFIG, then KUBECONFIG, then ~/.kube/config.")
]
InContext = Annotated[str | None, typer.Option("--context", help="Of the kubeconfig; default: its current one.")]
InNamespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Where jobs run; default: TRAINYARD_NAMESPACE, then `default`.")
]
_COLOURS = {"ok": "green", "note": "yellow", "fault": "red"}


def check(
    as_json: AsJson = False,
    kubeconfig: Kubeconfig = None,
    context: InContext = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where Trainyard is or will be.")] = "trainyard",
) -> None:
    """Say whether Trainyard can be installed in a cluster, and how it fares where it is. Changes nothing."""
    where = examination.Where.read(os.environ, kubeconfig, context, namespace)
    show(examination.examine("installation", where), as_json=as_json)


def show(findings: Sequence[Finding], *, as_json: bool) -> None:
    """One line a finding. Ends the command with 1 where there is a fault."""
    if as_json:
        output.as_json({"findings": [finding.model_dump() for finding in findings]})
    else:
        width = max((len(finding.subject) for finding in findings), default=0)
        for finding in findings:
            colour, subject = _COLOURS[finding.level], escape(f"{finding.subject:<{width}}")
            output.console.print(f"[{colour}]{finding.level:<5}[/{colour}]  {subject}  {escape(finding.text)}")
    if any(finding.level == "fault" for finding in findings):
        raise typer.Exit(exits.NOT_SUCCESSFUL)
