"""The shape that a newcomer learns once: the same anatomy in every service, and every effect of the table handled."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.contract import subjects
from trainyard.common.lifecycle.transitions import RULES, Effect
from trainyard.converter import handlers as converter
from trainyard.launcher import reconciler as launcher
from trainyard.matrix import handlers as matrix

ROOT = Path(__file__).resolve().parents[2]
SERVICES = {
    "job-api": "job_api",
    "matrix": "matrix",
    "launcher": "launcher",
    "converter": "converter",
    "monitor": "monitor",
}


def kinds_with(effect: Effect) -> set[str]:
    return {kind for kind, rule in RULES.items() if effect in rule.effects}


@pytest.mark.parametrize(("folder", "package"), SERVICES.items())
def test_every_service_has_the_same_anatomy(folder: str, package: str) -> None:
    home = ROOT / "services" / folder / "src" / "trainyard" / package
    for name in (
        "__main__.py",
        "app.py",
        "settings.py",
        "ports.py",
        "core/__init__.py",
        "adapters/__init__.py",
        "py.typed",
    ):
        assert (home / name).exists(), f"{folder} has no {name}"
    assert len((home / "__main__.py").read_text().splitlines()) <= 5
    readers = [
        file for file in home.rglob("*.py") if "environ" in file.read_text() and "os.environ" in file.read_text()
    ]
    # A child's environment is handed on by who starts it, and Paddle is told there what it reads; what configures a service
    # is read in settings alone.
    assert {file.name for file in readers} <= {"settings.py", "backend.py", "sandbox.py", "paddle_model.py"}


def test_the_matrix_answers_what_is_to_be_resolved() -> None:
    assert {event.kind for event in matrix.HANDLERS} == kinds_with(Effect.RESOLVE)


def test_the_converter_takes_what_is_to_be_converted() -> None:
    assert {event.kind for event in converter.HANDLERS if event.entity == "job"} == kinds_with(Effect.CONVERT)


def test_the_launcher_sees_whatever_concerns_it() -> None:
    concerned = set().union(
        *(kinds_with(effect) for effect in (Effect.PLACE, Effect.WATCH, Effect.KILL, Effect.RELEASE))
    )
    assert {subjects.of_kind("job", kind) for kind in concerned} <= set(launcher.FILTERS)
