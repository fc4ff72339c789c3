"""How often a job is tried again, and who pays for it.

A process says by its exit code what nobody else can know: that it was told to make room and has saved what it had (75,
EX_TEMPFAIL of sysexits.h), or that no other attempt would end better. The rules translate codes into budgets. They speak of
ends that nobody else has explained: running out of memory, an eviction or a lost node keep their own meaning whatever code
was left behind.
"""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from trainyard.common.contract.model import STORED, DnsLabel, Spec

CountsAs = Literal["user", "infrastructure", "preemption", "fatal"]
ExitCode = Annotated[int, Field(ge=1, le=255, strict=True)]


class ExitCodeRule(Spec):
    """What an exit code of the job's own processes means for its retries."""

    codes: Annotated[tuple[ExitCode, ...], Field(min_length=1, max_length=255)]
    """1 to 255; a process that was killed by signal n has 128 + n."""
    counts_as: CountsAs
    """The budget that pays for the next attempt; `fatal`: there is none."""
    role: DnsLabel | None = None
    """Only processes of this role; absent: of every role."""


class Retries(Spec):
    """Attempts beyond the first, by who is at fault; each failure is paid from its own budget."""

    user: Annotated[int, Field(ge=0, le=100)] = 0
    infrastructure: Annotated[int, Field(ge=0, le=100)] = 3
    preemption: Annotated[int, Field(ge=0, le=1000)] = 10
    exit_codes: Annotated[tuple[ExitCodeRule, ...], Field(max_length=64)] = ()
    """What exit codes of its own processes mean, where nobody knows better: `[{codes: [75], counts_as: preemption}]`."""

    @model_validator(mode="after")
    def _one_rule_a_code(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        for (first, one), (second, other) in combinations(enumerate(self.exit_codes), 2):
            both = sorted(set(one.codes) & set(other.codes))
            if both and (one.role == other.role or None in {one.role, other.role}):
                raise ValueError(
                    f"exit code {both[0]} has two rules, exit_codes[{first}] and exit_codes[{second}]: "
                    "leave it in one, or give each a `role` of its own"
                )
        return self

    def rule(self, code: int, role: str) -> ExitCodeRule | None:
        """What the job file says of an exit code of a role."""
        return next((rule for rule in self.exit_codes if code in rule.codes and rule.role in {None, role}), None)
