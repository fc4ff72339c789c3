"""How people ask for accelerators, and the one form that all of it becomes.

    accelerators: 4                          four, any product
    accelerators: 0.5                        half of one
    accelerators: 1(V100)                    one V100
    accelerators: 2(npu,910B)                two Ascend 910B
    accelerators: {gpu: 4}
    accelerators: {nvidia.com/mig-1g.10gb: 1}
    accelerators: {any: [h100, a100-80g, 910b]}    one of these, the first that there is; with `count: 4` four
    accelerators: [h100, a100-80g]           the same

Only the form is read here. Whether a product exists is what the matrix knows, which also names the nearest ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

KINDS = ("gpu", "npu", "dcu", "mlu", "xpu", "tpu", "hpu", "neuron", "gcu")
"""Words that may stand for a product: each means any product of that kind."""

FORMS = "write 4, 0.5, 1(V100), 2(npu,910B), gpu: 4, nvidia.com/mig-1g.10gb: 1 or any: [h100, a100]"

_FIELDS = frozenset({"count", "kind", "models", "share", "resource"})
_TEXT = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?:\((?P<words>[^()]*)\))?\s*")
_RESOURCE = re.compile(r"[a-z0-9.-]+/[A-Za-z0-9._-]+")


def spelt_out(value: Any) -> Any:
    """The fields of `Accelerators`; what is no short form is passed on as it is. Raises ValueError in a person's words."""
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a number of accelerators: {FORMS}")
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return {"count": 1, **_models(value)}
    if isinstance(value, Mapping) and not set(value) <= _FIELDS:
        return _mapping(value)
    return value


def _number(value: float) -> dict[str, Any]:
    if not math.isfinite(value):  # YAML's .inf, or more digits than a float has
        raise ValueError(f"{value} is not a number of accelerators: {FORMS}")
    if 0 < value < 1:
        return {"count": 1, "share": value}
    if value != int(value):
        raise ValueError(f"{value:g} accelerators cannot be given: a whole number, or a share below 1 of one")
    return {"count": int(value)}


def _text(text: str) -> dict[str, Any]:
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a request for accelerators: {FORMS}")
    words = [word.strip() for word in (found["words"] or "").split(",") if word.strip()]
    kinds = [word.lower() for word in words if word.lower() in KINDS]
    if len(kinds) > 1:
        raise ValueError(f"{text!r} names more than one kind: {', '.join(kinds)}")
    models = [word for word in words if word.lower() not in KINDS]
    return {**_number(float(found["number"])), **({"kind": kinds[0]} if kinds else {}), "models": models}


def _models(names: Any) -> dict[str, Any]:
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | int) for name in names):
        raise ValueError(f"`any` is a list of products, not {names!r}: any: [h100, a100-80g]")
    return {"models": [str(name) for name in names]}  # YAML reads 4090 as a number


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    rest = {key: item for key, item in value.items() if key in _FIELDS}
    made: dict[str, Any] = {}
    for key in [key for key in value if key not in _FIELDS]:
        item = value[key]
        if key == "any":
            made |= {"count": 1, **_models(item)} if "count" not in made else _models(item)
            continue
        if not isinstance(key, str) or not (key in KINDS or _RESOURCE.fullmatch(key)):
            raise ValueError(f"{key!r} is neither a field nor a kind ({', '.join(KINDS)}) nor a resource: {FORMS}")
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise ValueError(f"{key}: {item!r} is not a number")
        if "kind" in made or "resource" in made:
            raise ValueError(f"{key} beside another kind: one kind of accelerator for each role")
        made |= _number(item)
        made |= {"kind": key} if key in KINDS else {"resource": key}
    return {**made, **rest}
