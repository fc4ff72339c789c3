"""Rules for exit codes: what a person may write, and what is said where it cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainyard.common.contract.events import JobSubmitted
from trainyard.common.errors import InvalidInput
from trainyard.common.testing.builders import MINIMAL, spec

PS: dict[str, Any] = {"ps": {}, "worker": {}}


def rules(*exit_codes: dict[str, Any], **changes: Any) -> Any:
    return spec(retries={"exit_codes": exit_codes}, **changes).retries


def test_a_code_has_the_rule_of_its_role() -> None:
    made = rules(
        {"codes": [75, 143], "counts_as": "preemption"},
        {"codes": [2], "counts_as": "fatal", "role": "ps"},
        {"codes": [2], "counts_as": "infrastructure", "role": "worker"},
        roles=PS,
    )
    found = {
        (code, role): rule.counts_as
        for code in (1, 2, 75, 143)
        for role in ("ps", "worker")
        if (rule := made.rule(code, role)) is not None
    }
    assert found == {
        (75, "ps"): "preemption",
        (75, "worker"): "preemption",
        (143, "ps"): "preemption",
        (143, "worker"): "preemption",
        (2, "ps"): "fatal",
        (2, "worker"): "infrastructure",
    }


@pytest.mark.parametrize(
    ("exit_codes", "where", "says"),
    [
        ([{"codes": [0], "counts_as": "user"}], "retries.exit_codes.0.codes.0", "greater than or equal to 1"),
        ([{"codes": [256], "counts_as": "user"}], "retries.exit_codes.0.codes.0", "less than or equal to 255"),
        ([{"codes": [True], "counts_as": "user"}], "retries.exit_codes.0.codes.0", "valid integer"),
        ([{"codes": [], "counts_as": "user"}], "retries.exit_codes.0.codes", "at least 1 item"),
        ([{"codes": [1], "counts_as": "never"}], "retries.exit_codes.0.counts_as", "'preemption' or 'fatal'"),
        ([{"codes": [1]}], "retries.exit_codes.0.counts_as", "required"),
        ([{"code": [1], "counts_as": "user"}], "retries.exit_codes.0.code", "did you mean 'codes'?"),
        (
            [{"codes": [1, 75], "counts_as": "user"}, {"codes": [75], "counts_as": "fatal"}],
            "retries",
            "exit code 75 has two rules, exit_codes[0] and exit_codes[1]",
        ),
        (
            [{"codes": [75], "counts_as": "user", "role": "ps"}, {"codes": [75], "counts_as": "fatal"}],
            "retries",
            "leave it in one, or give each a `role` of its own",
        ),
        (
            [{"codes": [75], "counts_as": "user", "role": "chief"}],
            "",
            "retries.exit_codes[0] speaks of role chief, and the job has ps, worker",
        ),
    ],
)
def test_what_a_rule_cannot_say(exit_codes: list[dict[str, Any]], where: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rules(*exit_codes, roles=PS)
    assert where in [problem.where for problem in caught.value.problems]
    assert says in str(caught.value)


def test_the_short_form_has_the_role_worker() -> None:
    assert rules({"codes": [3], "counts_as": "fatal", "role": "worker"}).rule(3, "worker") is not None


def test_what_was_accepted_once_is_read_for_ever() -> None:
    """The first of two rules counts, and a rule of a role that is not there never does."""
    stored = [
        {"codes": [75], "counts_as": "preemption"},
        {"codes": [75], "counts_as": "fatal"},
        {"codes": [1], "counts_as": "fatal", "role": "gone"},
    ]
    document = {**MINIMAL, "framework": {"name": "generic"}, "retries": {"exit_codes": stored}}
    event = JobSubmitted.parse(json.dumps({"job_id": "j", "owner": "ann", "spec": document}))
    rule = event.spec.retries.rule(75, "worker")
    assert rule is not None
    assert rule.counts_as == "preemption"
    assert event.spec.retries.rule(1, "worker") is None
