"""What the launcher is told by its environment, and what it says to nonsense."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.launcher.settings import Settings


def test_what_is_said_is_taken(tmp_path: Path) -> None:
    env = {
        "TRAINYARD_STATE": str(tmp_path),
        "TRAINYARD_CPU": "0.5",
        "TRAINYARD_MEMORY": "2Gi",
        "TRAINYARD_NODE": "here",
    }
    settings = Settings.from_env(env)
    assert (settings.state, settings.node, settings.cpu, settings.memory) == (tmp_path, "here", 0.5, 2 * 2**30)
    assert settings.ranks == 64


def test_the_machine_answers_where_nothing_is_said(tmp_path: Path) -> None:
    settings = Settings.from_env({"TRAINYARD_STATE": str(tmp_path)})
    assert settings.cpu >= 1
    assert settings.memory > 2**28


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRAINYARD_CPU", "many"),
        ("TRAINYARD_CPU", "0"),
        ("TRAINYARD_CPU", "-1"),
        ("TRAINYARD_CPU", "nan"),
        ("TRAINYARD_CPU", "inf"),
        ("TRAINYARD_API_RATE", "0"),
        ("TRAINYARD_API_RATE", "fast"),
        ("TRAINYARD_MEMORY", "much"),
        ("TRAINYARD_MEMORY", "-1"),
    ],
)
def test_nonsense_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Settings.from_env({name: value})


def test_some_namespaces_or_all_of_them() -> None:
    assert Settings.from_env({}).namespaces == frozenset()
    some = Settings.from_env({"TRAINYARD_NAMESPACES": "a, b", "TRAINYARD_NAMESPACE": "a"})
    assert some.namespaces == {"a", "b"}


@pytest.mark.parametrize(("names", "words"), [("a,B", "no name of a namespace"), ("a,b", "'c', where jobs run")])
def test_namespaces_that_cannot_be(names: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=f"TRAINYARD_NAMESPACES.*{words}"):
        Settings.from_env({"TRAINYARD_NAMESPACES": names, "TRAINYARD_NAMESPACE": "c"})
