"""How Helm is asked to install Trainyard: the command as a value, and what its faults mean. Starts nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from trainyard.common.errors import InvalidInput, NotFound, TrainyardError, Unavailable

RELEASE = "trainyard"


@dataclass(frozen=True, slots=True)
class Installation:
    chart: str
    """A folder, an archive, or what Helm fetches (`oci://…`)."""
    namespace: str = "trainyard"
    values: Sequence[str] = ()
    """Files, in Helm's order: the last one wins."""
    settings: Sequence[str] = ()
    """`path.to.value=…`"""
    kubeconfig: str | None = None
    context: str | None = None
    timeout: str = "10m"

    def template(self) -> list[str]:
        """Renders alone: no cluster is asked."""
        return ["helm", "template", RELEASE, self.chart, "--namespace", self.namespace, *self._said()]

    def upgrade(self) -> list[str]:
        return [
            *("helm", "upgrade", "--install", RELEASE, self.chart, "--namespace", self.namespace, "--create-namespace"),
            *("--wait", "--timeout", self.timeout),
            *(("--kubeconfig", self.kubeconfig) if self.kubeconfig else ()),
            *(("--kube-context", self.context) if self.context else ()),
            *self._said(),
        ]

    def _said(self) -> list[str]:
        files = [word for file in self.values for word in ("--values", file)]
        return files + [word for setting in self.settings for word in ("--set", setting)]


def shipped_chart() -> Path | None:
    """`deploy/helm/trainyard` of the clone that this code runs from."""
    for parent in Path(__file__).resolve().parents:
        if (parent / "deploy" / "helm" / "trainyard" / "Chart.yaml").is_file():
            return parent / "deploy" / "helm" / "trainyard"
    return None


def check_values(installation: Installation) -> None:
    """Raises InvalidInput or NotFound for what Helm would tell in many lines."""
    for file in installation.values:
        if not Path(file).is_file():
            raise NotFound(f"there is no values file {file}")
    for setting in installation.settings:
        if "=" not in setting or setting.startswith("="):
            raise InvalidInput.one(f"{setting!r} sets nothing", "--set", "NAME=VALUE, such as image.tag=0.1.0")


def missing_dependencies(chart: Path) -> list[str]:
    """The charts that this one needs and that are not in its charts/ in the version it names."""
    wanted = yaml.safe_load((chart / "Chart.yaml").read_text()).get("dependencies") or []
    there = {path.name for path in (chart / "charts").glob("*")}
    return [item["name"] for item in wanted if not {item["name"], f"{item['name']}-{item['version']}.tgz"} & there]


_SCHEMA = re.compile(r"values don't meet the specifications of the schema", re.IGNORECASE)

_KUBECONFIG = re.compile(
    r'error loading config file|invalid configuration:|context "[^"]*" does not exist', re.IGNORECASE
)
"""Source: client-go, tools/clientcmd. Helm calls these an unreachable cluster."""


def fault(said: str) -> TrainyardError:
    """What Helm wrote when it failed, as an error of ours: one that the caller can mend where it is."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("WARNING")]
    told = " ".join(lines).removeprefix("Error: ") or "helm failed without a word"
    if _SCHEMA.search(told):
        faults = [line.removeprefix("- ") for line in lines if line.startswith("- ") and not line.endswith("failed")]
        return InvalidInput.one("; ".join(faults) or told, "values", "values.yaml of the chart lists what there is")
    if _KUBECONFIG.search(told):
        return InvalidInput.one(told, "KUBECONFIG", "--kubeconfig and --context name others")
    if "Kubernetes cluster unreachable" in told or "connection refused" in told:
        return Unavailable(f"the cluster does not answer: {told}")
    return TrainyardError(told)
