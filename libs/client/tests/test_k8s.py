"""`yard k8s install`: what Helm is asked, and what a person is told when that cannot work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainyard.client import cluster
from trainyard.client.cluster import Installation
from trainyard.common.errors import InvalidInput, NotFound, TrainyardError, Unavailable

CHART = str(cluster.shipped_chart())


def yard(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainyard.client", "k8s", "install", *arguments]
    env = {**os.environ, "PATH": str(path)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def helm(tmp_path: Path) -> Path:
    """A program that says what it was asked; it fails as Helm does where FAIL says so, and brings no dependency."""
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\nif [ "$1" = "$FAIL" ]; then echo "Error: no such host" >&2; exit 1; fi\n')
    program.chmod(0o755)
    return program.parent


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    folder = tmp_path / "chart"
    folder.mkdir()
    (folder / "Chart.yaml").write_text("name: trainyard\nversion: 0.1.0\n")
    return folder


def test_what_helm_is_asked() -> None:
    wanted = Installation("c", "ns", ("a.yaml", "b.yaml"), ("x=1", "y=2"), "/kube", "prod")
    said = ["--values", "a.yaml", "--values", "b.yaml", "--set", "x=1", "--set", "y=2"]
    assert wanted.template() == ["helm", "template", "trainyard", "c", "--namespace", "ns", *said]
    assert wanted.upgrade() == [
        *("helm", "upgrade", "--install", "trainyard", "c", "--namespace", "ns", "--create-namespace"),
        *("--wait", "--timeout", "10m", "--kubeconfig", "/kube", "--kube-context", "prod", *said),
    ]


def test_a_dry_run_only_renders(helm: Path, chart: Path) -> None:
    done = yard(helm, "--dry-run", "--chart", str(chart), "--set", "a=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["template", "trainyard", str(chart), "--namespace", "trainyard", "--set", "a=1"]


def test_it_installs_and_waits(helm: Path, chart: Path) -> None:
    done = yard(helm, "--chart", str(chart), "-n", "ml", "--context", "prod")
    assert done.returncode == 0
    assert done.stdout.startswith(f"upgrade --install trainyard {chart} --namespace ml --create-namespace --wait")


def test_what_is_missing_is_told_in_one_sentence(helm: Path, chart: Path, tmp_path: Path) -> None:
    for arguments, path, code, words in (
        (("--chart", str(chart)), tmp_path, 3, "helm is not on PATH: install Helm"),
        (("--chart", "/nowhere"), helm, 3, "there is no chart at /nowhere"),
        (("--chart", str(chart), "-f", "none.yaml"), helm, 3, "there is no values file none.yaml"),
        (("--chart", str(chart), "--set", "a"), helm, 4, "'a' sets nothing (NAME=VALUE"),
    ):
        done = yard(path, *arguments)
        assert done.returncode == code, done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_a_dependency_that_cannot_be_fetched_is_told_with_the_command(
    helm: Path, chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (chart / "Chart.yaml").write_text("name: a\nversion: 0.1.0\ndependencies:\n- {name: nats, version: 2.14.2}\n")
    monkeypatch.setenv("FAIL", "dependency")
    done = yard(helm, "--dry-run", "--chart", str(chart))
    assert done.returncode == 1
    assert f"the chart needs nats, which could not be fetched (no such host): run `helm dependency update {chart}`" in (
        " ".join(done.stderr.split())
    )


def test_a_dependency_is_there_as_folder_or_archive_of_its_version(chart: Path) -> None:
    (chart / "Chart.yaml").write_text("name: a\nversion: 0.1.0\ndependencies:\n- {name: nats, version: 2.14.2}\n")
    (chart / "charts").mkdir()
    assert cluster.missing_dependencies(chart) == ["nats"]
    (chart / "charts" / "nats-2.14.1.tgz").touch()
    assert cluster.missing_dependencies(chart) == ["nats"]
    (chart / "charts" / "nats-2.14.2.tgz").touch()
    assert cluster.missing_dependencies(chart) == []


def test_the_chart_of_the_clone_is_found_and_stands_on_nats() -> None:
    assert Path(CHART, "values.schema.json").is_file()


SCHEMA = """Error: values don't meet the specifications of the schema(s) in the following chart(s):
trainyard:
- at '': 'allOf' failed
  - at '/natsUrl': minLength: got 0, want 1
- at '/monitor/replicas': maximum: got 2, want 1
"""


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (SCHEMA, InvalidInput, "values: at '/natsUrl': minLength: got 0, want 1; at '/monitor/replicas': maximum"),
        (
            'Error: Kubernetes cluster unreachable: error loading config file "/k": yaml: line 2: mapping values',
            InvalidInput,
            'KUBECONFIG: .*"/k": yaml: line 2: mapping values .*--kubeconfig',
        ),
        ('Error: Kubernetes cluster unreachable: context "x" does not exist', InvalidInput, "KUBECONFIG: "),
        ("Error: Kubernetes cluster unreachable: dial", Unavailable, "the cluster does not answer"),
        ("WARNING: x\nError: context deadline exceeded", TrainyardError, "^context deadline exceeded$"),
        ("", TrainyardError, "failed without a word"),
    ],
)
def test_what_helm_says_becomes_an_error_of_ours(said: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        raise cluster.fault(said)


def test_files_and_settings_that_are_no_values() -> None:
    with pytest.raises(NotFound):
        cluster.check_values(Installation("c", values=("/nowhere.yaml",)))
    with pytest.raises(InvalidInput):
        cluster.check_values(Installation("c", settings=("=1",)))
