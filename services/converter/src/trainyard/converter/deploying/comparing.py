"""A/B: the same requests to two versions that a server has, by turns, so that what slows the machine down slows both."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters.files import UNREADABLE
from trainyard.converter.core import versus
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.versus import Difference, Latency
from trainyard.converter.deploying.server import ModelServer

WARM_UP = 3
"""Requests to each before any is timed."""


@dataclass(frozen=True, slots=True)
class Compared:
    name: str
    versions: tuple[int, int]
    server: str
    differences: list[Difference]
    latency: tuple[Latency, Latency]


def compare(server: ModelServer, name: str, versions: tuple[int, int], inputs: Case, requests: int) -> Compared:
    """`inputs`: rows by input name; each request takes the next one, and begins again where they end. Raises InvalidInput."""
    served = server.versions(name)
    for version in versions:
        if version not in served:
            there = f"served are {', '.join(map(str, served))}" if served else "nothing is served under that name"
            raise InvalidInput.one(
                f"model {name!r} has no version {version} at {server.url}: {there}",
                "",
                "`yard deploy --keep 2` keeps two",
            )
    rows = list(_rows(inputs))
    pairs: list[tuple[dict[str, Array], dict[str, Array]]] = []
    seconds: dict[int, list[float]] = {0: [], 1: []}
    for number in range(-WARM_UP, requests):
        answers: dict[int, dict[str, Array]] = {}
        for which in (0, 1) if number % 2 else (1, 0):
            began = time.perf_counter()
            answers[which] = server.infer(name, rows[number % len(rows)], versions[which])
            if number >= 0:
                seconds[which].append(time.perf_counter() - began)
        if 0 <= number < len(rows):  # what comes again is timed again, but not compared again
            pairs.append((answers[0], answers[1]))
    found = versus.latency(seconds[0]), versus.latency(seconds[1])
    return Compared(name, versions, " ".join(server.about()), versus.differences(pairs), found)


def read(file: Path) -> Case:
    """An .npz of inputs by name; `labels` may be among them, as in a conversion's samples. Raises InvalidInput."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files if name != "labels"}
    except UNREADABLE as error:
        raise InvalidInput.one(f"{file} is no .npz of inputs: {error}", "--inputs") from error
    if not found or any(array.ndim == 0 or not len(array) for array in found.values()):
        raise InvalidInput.one(
            f"{file} has no rows", "--inputs", "an array for each input, with a row for each request"
        )
    if len({len(array) for array in found.values()}) > 1:
        raise InvalidInput.one(f"the inputs in {file} have different numbers of rows", "--inputs")
    return found


def _rows(inputs: Case) -> Iterator[Case]:
    """A row is a batch of one."""
    for index in range(len(next(iter(inputs.values())))):
        yield {name: array[index : index + 1] for name, array in inputs.items()}
