"""The image of the services: what it is built from is there, and what it leaves out is not needed."""

from __future__ import annotations

import re

from tests.deploy.conftest import ROOT

from trainyard.common.runtime.settings import SERVICES

DOCKERFILE = (ROOT / "deploy" / "services" / "Dockerfile").read_text()


def test_it_runs_as_the_user_of_the_pods() -> None:
    assert "\nUSER 65532:65532\n" in DOCKERFILE


def test_every_package_of_ours_is_installed_but_the_double() -> None:
    members = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/pyproject.toml")}
    assert set(re.findall(r"\b(?:libs|services)/[a-z-]+\b", DOCKERFILE)) - {"services/Dockerfile"} == members - {
        "libs/cluster-double"
    }
    assert {f"services/{name}" for name in SERVICES} <= members


def test_what_is_copied_is_there_and_sent_along() -> None:
    ignored = (ROOT / "deploy" / "services" / "Dockerfile.dockerignore").read_text().splitlines()
    sources = re.findall(r"(?m)^COPY (?!--)(\S+)", DOCKERFILE)
    assert sources
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored
