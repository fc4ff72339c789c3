"""`x-kubernetes-validations`: rules in CEL that a custom object must keep, some of them between its old and its new state.

`cel-python` evaluates the language itself. Kubernetes' own function libraries (quantities, URLs, regular-expression finds)
are not there; a rule that uses one is a fault that says so, rather than a rule that is silently kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import celpy
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from trainyard.cluster_double.core.errors import Cause
from trainyard.cluster_double.core.objects import Json


def faults(new: Any, old: Any, schema: Json, at: str = "") -> Iterator[Cause]:
    """Every rule of `schema` and below it that `new` breaks. Rules with `oldSelf` are asked only where there was one."""
    for rule in schema.get("x-kubernetes-validations") or ():
        if "oldSelf" in rule["rule"] and old is None:
            continue
        broken = _broken(rule, new, old)
        if broken is not None:
            yield Cause(at, f"Invalid value: {broken}")
    if isinstance(new, dict):
        properties: Json = schema.get("properties") or {}
        extra = schema.get("additionalProperties")
        before = old if isinstance(old, dict) else {}
        for name, member in new.items():
            its = properties.get(name) or (extra if isinstance(extra, dict) else None)
            if its is not None and member is not None:
                yield from faults(member, before.get(name), its, f"{at}.{name}" if at else name)
    elif isinstance(new, list) and isinstance(schema.get("items"), dict):
        for index, entry in enumerate(new):
            # Items of an unkeyed list have no past that they could be compared with.
            yield from faults(entry, None, schema["items"], f"{at}[{index}]")


def has_rules(schema: Json) -> bool:
    """Whether there is any rule at or below this schema."""
    below = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return bool(schema.get("x-kubernetes-validations")) or any(has_rules(one) for one in below if isinstance(one, dict))


def _broken(rule: Json, new: Any, old: Any) -> str | None:
    """What to say when the rule does not hold; None when it does."""
    said = rule.get("message") or f"failed rule: {rule['rule']}"
    try:
        program = _program(rule["rule"])
        result = program.evaluate({"self": json_to_cel(new), "oldSelf": json_to_cel(old)})
    except (CELEvalError, CELParseError, KeyError, TypeError, ValueError) as fault:
        return f"rule could not be evaluated: {rule['rule']}: {fault}"
    return None if bool(result) else str(said)


@lru_cache(maxsize=256)
def _program(text: str) -> celpy.Runner:
    environment = celpy.Environment()
    return environment.program(environment.compile(text))
