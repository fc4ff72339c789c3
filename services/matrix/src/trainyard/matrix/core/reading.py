"""Facts from the text of the tables: tab-separated, with a heading; each cell that means something is read here, once.

What cannot be read is told by table and line, so that whoever added a row knows which one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trainyard.matrix.core.facts import (
    Build,
    Cubins,
    Driver,
    Facts,
    Feature,
    Floor,
    Release,
    Requirement,
    Row,
    capability,
    words,
)  # fmt: skip
from trainyard.matrix.core.hardware import DriverVersion, Hardware

T = TypeVar("T")
K = TypeVar("K")
_VERSIONS = {"published": ("release",), "promises": ("first", "last")}
"""Tables that are only compared, and their columns with versions."""


def parse(tables: Mapping[str, str]) -> Facts:
    """From the text of each table. Raises ValueError that names table and line for what cannot be read."""
    rows = {name: read(name, text) for name, text in tables.items()}

    def made(table: str, make: Callable[[Row], T]) -> list[T]:
        return list(_made(table, rows[table], make))

    drivers: dict[str, Driver] = {}
    for driver in made("drivers", _driver):
        known = drivers.get(driver.cuda)
        drivers[driver.cuda] = min((known, driver) if known else (driver,), key=lambda item: item.full)
    for table, columns in _VERSIONS.items():
        made(table, partial(_checked_versions, columns=columns))
    releases = sorted(made("releases", _release), key=lambda item: item.version, reverse=True)
    return Facts(
        releases=_grouped(releases, lambda item: item.framework),
        requirements=tuple(made("requirements", _requirement)),
        builds=_grouped(made("builds", _build), lambda item: item.framework),
        cubins=_grouped(made("cubins", _cubins), lambda item: (item.framework, item.cuda)),
        floors=tuple(made("floors", _floor)),
        drivers=drivers,
        features={feature.name: feature for feature in made("features", _feature)},
        hardware=Hardware.of(rows["hardware"], rows["vendors"]),
        tables=rows,
    )


def _made(table: str, rows: Iterable[Row], make: Callable[[Row], T]) -> Iterator[T]:
    for number, row in enumerate(rows, 2):
        try:
            yield make(row)
        except ValueError as error:
            raise ValueError(f"{table}.tsv, line {number}: {error}") from error


def _grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, tuple[T, ...]]:
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return {name: tuple(group) for name, group in found.items()}


def read(name: str, text: str) -> tuple[Row, ...]:
    """Tab-separated with a heading; every row has as many cells as the heading."""
    head, *lines = text.rstrip("\n").split("\n")
    columns = head.split("\t")
    rows = []
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise ValueError(f"{name}.tsv, line {number}: {len(cells)} cells, the heading has {len(columns)}")
        rows.append(dict(zip(columns, cells, strict=True)))
    return tuple(rows)


def _checked_versions(row: Row, columns: Iterable[str]) -> list[Version]:
    return [Version(row[column]) for column in columns if row[column]]


def _release(row: Row) -> Release:
    return Release(row["framework"], Version(row["release"]), words(row["pythons"]), words(row["machines"]))


def _requirement(row: Row) -> Requirement:
    return Requirement(row["framework"], SpecifierSet(row["releases"]), row["needs"], SpecifierSet(row["range"]))


def _build(row: Row) -> Build:
    return Build(
        row["framework"], SpecifierSet(row["releases"]), row["stack"], row["stack_version"], row["status"]
    )  # fmt: skip


def _cubins(row: Row) -> Cubins:
    return Cubins(
        row["framework"], SpecifierSet(row["releases"]), row["cuda"], row["machine"], row["cubins"], row["ptx"]
    )  # fmt: skip


def _floor(row: Row) -> Floor:
    return Floor(row["framework"], capability(row["capability"]), Version(row["release"]), Version(row["cuda"]))


def _driver(row: Row) -> Driver:
    minimum = DriverVersion.of(row["minimum"]) if row["minimum"] else None
    return Driver(row["cuda"], DriverVersion.of(row["full"]), minimum)


def _feature(row: Row) -> Feature:
    return Feature(
        row["feature"], row["on"] == "cpu" or not row["stack"], row["framework"], SpecifierSet(row["releases"]), row["stack"],
        SpecifierSet(row["capability"]), row["provided"] == "image", row["instead"], row["meaning"],
    )  # fmt: skip
