"""The kustomize base is what the chart makes, and kustomize builds it. kubectl brings kustomize."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.deploy.conftest import ROOT, Render, of_kind

KUSTOMIZE = ROOT / "deploy" / "kustomize"


def build(folder: Path) -> list[Any]:
    kubectl = Path(sys.executable).with_name("kubectl")
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_the_base_is_the_charts() -> None:
    command = [sys.executable, ROOT / "tools" / "generate_kustomize.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_builds_to_what_the_chart_renders(render: Render) -> None:
    built = {(item["kind"], item["metadata"]["name"]): item for item in build(KUSTOMIZE / "base")}
    rendered = {(item["kind"], item["metadata"]["name"]): item for item in render()}
    assert set(built) - set(rendered) == {("Namespace", "trainyard")}
    assert set(rendered) <= set(built)
    for key, item in rendered.items():
        ours, theirs = (document.get("spec", document.get("data")) for document in (item, built[key]))
        if key[0] == "Deployment":
            ours, theirs = ours["template"]["spec"], theirs["template"]["spec"]
        assert theirs == ours, key


@pytest.mark.parametrize("version", ["1.30", "1.33", "1.36"])
def test_the_example_is_valid_and_changes_what_it_says(version: str) -> None:
    built = build(KUSTOMIZE / "overlays" / "example")
    for document in built:
        kubernetes_validate.validate(document, version, strict=True)
    deployments = of_kind(built, "Deployment")
    images = {one["spec"]["template"]["spec"]["containers"][0]["image"] for one in deployments.values()}
    assert images == {"registry.example.com/trainyard:0.1.0"}
    assert deployments["trainyard-job-api"]["spec"]["replicas"] == 2
