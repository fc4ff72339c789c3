"""Bounds for what is free in a model, for targets that want some: those that the proof goes through. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainyard.converter.core.cases import Case

Profile = dict[str, dict[str, list[int]]]


def profile(inputs: Sequence[Mapping[str, Any]], cases: Mapping[str, Case]) -> Profile:
    """Name → `min`, `opt` and `max` sizes, of each input with a free dimension: the smallest and the largest that a case has.
    What it is made fast for (`opt`) are the sizes of the largest one."""
    found: Profile = {}
    for item in inputs:
        if not any(dim in {"batch", -1} for dim in item["shape"]):
            continue
        seen = [case[item["name"]].shape for case in cases.values()]
        largest = [max(sizes) for sizes in zip(*seen, strict=True)]
        smallest = [min(sizes) for sizes in zip(*seen, strict=True)]
        found[item["name"]] = {"min": smallest, "opt": largest, "max": largest}
    return found
