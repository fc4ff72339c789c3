"""Every way to ask for accelerators becomes one form; what is none of them is refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import Accelerators, JobSpec
from trainyard.common.errors import InvalidInput


def asked(value: Any) -> Accelerators:
    document = {"name": "a", "framework": "generic", "command": "true", "resources": {"accelerators": value}}
    return validate(JobSpec, document).resources.accelerators


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (4, Accelerators(count=4)),
        ("4", Accelerators(count=4)),
        (0, Accelerators()),
        (0.5, Accelerators(count=1, share=0.5)),
        ("0.5", Accelerators(count=1, share=0.5)),
        ("0.25(A100)", Accelerators(count=1, share=0.25, models=("A100",))),
        ("1(V100)", Accelerators(count=1, models=("V100",))),
        ("2(npu,910B)", Accelerators(count=2, kind="npu", models=("910B",))),
        ("2 ( h100 , a100 )", Accelerators(count=2, models=("h100", "a100"))),
        ({"gpu": 4}, Accelerators(count=4)),
        ({"npu": 8}, Accelerators(count=8, kind="npu")),
        ({"gpu": 0.5}, Accelerators(count=1, share=0.5)),
        ({"nvidia.com/mig-1g.10gb": 1}, Accelerators(count=1, resource="nvidia.com/mig-1g.10gb")),
        ({"any": ["h100", 4090]}, Accelerators(count=1, models=("h100", "4090"))),
        ({"any": ["h100"], "count": 8}, Accelerators(count=8, models=("h100",))),
        ({"gpu": 2, "any": ["h100"]}, Accelerators(count=2, models=("h100",))),
        (["h100", "910b"], Accelerators(count=1, models=("h100", "910b"))),
        ({"count": 1, "kind": "gpu"}, Accelerators(count=1)),
    ],
)
def test_short_forms(written: Any, read: Accelerators) -> None:
    assert asked(written) == read


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (True, "not a number of accelerators"),
        (1.5, "1.5 accelerators cannot be given"),
        ("many", "is not a request for accelerators"),
        ("2(gpu,npu)", "more than one kind"),
        ({"gpuu": 1}, "neither a field nor a kind"),
        ({"gpu": "four"}, "is not a number"),
        ({"gpu": 1, "npu": 1}, "one kind of accelerator"),
        ({"any": "h100"}, "is a list of products"),
        ({"count": 2, "share": 0.5}, "a share is of one accelerator"),
        ({"gpu": -1}, "greater than or equal to 0"),
        (float("inf"), "inf is not a number of accelerators"),
        (float("nan"), "nan is not a number of accelerators"),
        ({"gpu": float("inf")}, "inf is not a number of accelerators"),
        ("9" * 400, "inf is not a number of accelerators"),
        ({"count": 2, "kind": "cpu"}, "a processor is no accelerator"),
    ],
)
def test_what_is_no_request_is_refused_in_words(written: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        asked(written)
    assert "resources.accelerators" in str(refused.value)


def test_what_was_spelt_out_is_read_back() -> None:
    request = asked("2(npu,910B)")
    assert Accelerators.model_validate_json(request.model_dump_json()) == request
