"""Wishes and what the matrix makes of them; refusals name what would work."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.facts import NOTHING_KNOWN
from trainyard.matrix.core.images import BUILT_IN, Image
from trainyard.matrix.core.resolve import Rejection, resolve

IMAGES = (
    *BUILT_IN,
    Image("pytorch-cpu", "pytorch", Version("2.13.0"), ("cpu",)),
    Image("pytorch-old", "pytorch", Version("2.6.0"), ("cpu",)),
    Image("pytorch-cu126", "pytorch", Version("2.12.0"), ("gpu", "cpu")),
)


def ask(**changes: Any) -> Resolution | Rejection:
    spec = JobSpec.model_validate({"name": "a", "framework": "generic", "command": ["true"], **changes})
    return resolve(spec, Catalogue.of(IMAGES, NOTHING_KNOWN))


@pytest.mark.parametrize(
    ("wish", "image"),
    [
        ({}, "host"),
        ({"image": "noop"}, "noop"),
        ({"framework": "pytorch"}, "pytorch-cpu"),
        ({"framework": "pytorch<2.12"}, "pytorch-old"),
        ({"framework": {"name": "pytorch", "version": "2.12"}}, "pytorch-cu126"),
        ({"framework": {"name": "pytorch", "version": "2.6.0"}}, "pytorch-old"),
        ({"framework": "pytorch", "resources": {"accelerators": {"count": 1}}}, "pytorch-cu126"),
        ({"framework": "pytorch", "image": "host"}, "host"),
    ],
)
def test_what_fits_is_chosen(wish: dict[str, Any], image: str) -> None:
    answer = ask(**wish)
    assert isinstance(answer, Resolution), answer
    assert answer.image == image
    assert answer.reasons


@pytest.mark.parametrize(
    ("wish", "says", "nearest"),
    [
        ({"framework": "pytorch>=3"}, "has pytorch >=3", "framework: pytorch==2.13.0"),
        ({"framework": "pytorch>>3"}, "not a version specifier", "write"),
        ({"image": "pytorch-cpuu"}, "did you mean 'pytorch-cpu'?", "image: pytorch-cpu"),
        (
            {"framework": "pytorch", "resources": {"accelerators": {"count": 1, "kind": "npu"}}},
            "runs on npu",
            "pytorch-cpu runs on cpu",
        ),
        ({"framework": {"name": "generic", "version": ">=1"}}, "has generic >=1", "framework: generic"),
    ],
)
def test_refusals_name_what_would_work(wish: dict[str, Any], says: str, nearest: str) -> None:
    answer = ask(**wish)
    assert isinstance(answer, Rejection), answer
    assert says in answer.message
    assert any(nearest in item for item in answer.nearest), answer.nearest
    assert not answer.reasons[-1].passed
