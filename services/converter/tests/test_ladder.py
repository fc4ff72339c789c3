"""Which exporters and operator sets are tried, and in what order."""

from __future__ import annotations

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.formats import SOURCES, Exporter
from trainyard.converter.core.ladder import Limits, Rung, limits
from trainyard.converter.core.ladder import rungs as all_rungs

TORCH = SOURCES["torch-state-dict"].exporters


def rungs(opset: int | None, taken: Limits, exporters: tuple[Exporter, ...] = TORCH) -> list[Rung]:
    return [Rung(rung.exporter, rung.opset) for rung in all_rungs(exporters, opset, taken)]


def test_the_runtime_decides_the_set() -> None:
    tried = [Rung("dynamo", 20), Rung("dynamo", 18), Rung("torchscript", 17), Rung("rewritten", 20)]
    assert rungs(None, Limits(20, 10)) == tried
    assert rungs(None, Limits(18, 8)) == [Rung("dynamo", 18), Rung("torchscript", 17), Rung("rewritten", 18)]
    assert rungs(None, Limits(15, 8)) == [Rung("torchscript", 15)]


@pytest.mark.parametrize(
    ("opset", "tried"),
    [
        (13, [Rung("torchscript", 13)]),
        (18, [Rung("dynamo", 18), Rung("torchscript", 18), Rung("rewritten", 18)]),
        (21, [Rung("dynamo", 21), Rung("rewritten", 21)]),
    ],
)
def test_a_set_that_was_asked_for_is_the_only_one(opset: int, tried: list[Rung]) -> None:
    assert rungs(opset, Limits(21, 10)) == tried


def test_a_newer_set_than_older_servers_take_is_written_only_where_it_is_asked_for() -> None:
    assert rungs(None, Limits(28, 14))[0] == Rung("dynamo", 20)
    assert rungs(25, Limits(28, 14)) == [Rung("dynamo", 25), Rung("rewritten", 25)]


def test_a_set_that_the_runtime_lacks_is_refused_not_stamped() -> None:
    with pytest.raises(InvalidInput, match=r"convert\.opset: the runtime takes opset 20 at most"):
        rungs(22, Limits(20, 10))


@pytest.mark.parametrize(
    ("version", "opset", "ir"),
    [
        ("1.2", 18, 8),
        ("1.14.1", 18, 8),
        ("1.17.3", 20, 9),
        ("1.18.0", 20, 10),
        ("1.22.1", 22, 10),
        ("1.23.2", 23, 11),
        ("1.31.0", 26, 13),
        ("1.99.0", 28, 14),
    ],
)
def test_limits_of_a_release(version: str, opset: int, ir: int) -> None:
    assert limits(version) == Limits(opset, ir)
