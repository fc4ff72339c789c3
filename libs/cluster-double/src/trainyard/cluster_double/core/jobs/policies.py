"""What a failed pod means for its job: `podFailurePolicy`; and when enough has succeeded: `successPolicy`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trainyard.cluster_double.core.jobs import indexes
from trainyard.cluster_double.core.objects import Json, condition, name_of, namespace_of, spec_of, status_of

COUNT, IGNORE, FAIL_JOB, FAIL_INDEX = "Count", "Ignore", "FailJob", "FailIndex"


@dataclass(frozen=True, slots=True)
class Verdict:
    action: str = COUNT
    message: str = ""


def judge(job: Json, pod: Json) -> Verdict:
    """The first rule that matches decides."""
    for number, rule in enumerate((spec_of(job).get("podFailurePolicy") or {}).get("rules") or ()):
        said = _by_exit_code(rule, pod) or _by_condition(rule, pod)
        if said:
            action = rule["action"]
            return Verdict(action, f"{said} matching {action} rule at index {number}")
    return Verdict()


def _by_exit_code(rule: Json, pod: Json) -> str:
    wanted = rule.get("onExitCodes")
    if not wanted:
        return ""
    for name, code in _exit_codes(pod):
        if wanted.get("containerName") not in {None, "", name} or code == 0:
            continue
        if (code in wanted["values"]) == (wanted["operator"] == "In"):
            return f"Container {name} for pod {namespace_of(pod)}/{name_of(pod)} failed with exit code {code}"
    return ""


def _exit_codes(pod: Json) -> Iterator[tuple[str, int]]:
    status = status_of(pod)
    for one in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        ended = (one.get("state") or {}).get("terminated")
        if ended:
            yield str(one["name"]), int(ended.get("exitCode", 0))


def _by_condition(rule: Json, pod: Json) -> str:
    for pattern in rule.get("onPodConditions") or ():
        found = condition(pod, pattern["type"])
        if found is not None and found.get("status") == pattern.get("status", "True"):
            return f"Pod {namespace_of(pod)}/{name_of(pod)} has condition {pattern['type']}"
    return ""


def satisfied(job: Json, completed: set[int]) -> str:
    """What to say when the success policy holds; empty when there is none or it does not hold yet."""
    for number, rule in enumerate((spec_of(job).get("successPolicy") or {}).get("rules") or ()):
        among = indexes.read(rule["succeededIndexes"]) if rule.get("succeededIndexes") else None
        done = completed if among is None else completed & among
        needed = rule.get("succeededCount") or (len(among) if among is not None else 0)
        if needed and len(done) >= needed:
            return f"Matched rules at index {number}"
    return ""
