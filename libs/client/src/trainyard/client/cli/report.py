"""`yard report`: how a conversion went, from the report that the converter wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trainyard.client.cli import output
from trainyard.client.cli.context import AsJson, yard
from trainyard.client.sdk import Yard
from trainyard.common.contract.views import ConversionView
from trainyard.common.errors import InvalidInput, NotFound


def report(
    ctx: typer.Context,
    conversion: Annotated[str, typer.Argument(metavar="ID", help="A conversion's id, or its job's.")],
    as_json: AsJson = False,
) -> None:
    """What a conversion tried, how far off each output is at most, and where its files lie."""
    with yard(ctx) as gateway:
        path = report_of(find(gateway, conversion))
    document = read(path)
    if as_json:
        output.as_json(document)
    else:
        output.console.print(shown(document, path))


def find(gateway: Yard, some_id: str) -> ConversionView:
    """By a conversion's id or its job's. Raises NotFound."""
    try:
        return gateway.conversion(some_id)
    except NotFound:
        try:
            return gateway.conversion_of(some_id, timeout=0)
        except NotFound:
            raise NotFound(f"there is no conversion {some_id}, and no job of that id that was converted") from None


def report_of(view: ConversionView) -> Path:
    """Raises InvalidInput where there is none."""
    told = (view.result or {}).get("report")
    if told:
        return Path(told)
    why = "it has not ended" if view.ended_at is None else f"it failed before there was one: {view.message}"
    raise InvalidInput.one(f"conversion {view.conversion_id} has no report: {why}", "ID")


def read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidInput.one(
            f"the report {path} cannot be read here",
            "ID",
            "it lies where the converter runs; the panel shows it as well",
        ) from error
    return document


def shown(document: dict[str, Any], path: Path) -> RenderableType:
    """The verdict first, then what it rests on."""
    good = document["verdict"] == "proven"
    verdict = Text.assemble(
        f"{document['name']}  ", (document["verdict"], "green" if good else "red"), f"  {document['summary']}"
    )
    tried = _table(
        ("STEP", "HELD", "RESULT"),
        ((step["name"], "yes" if step["passed"] else "no", step["message"]) for step in document["steps"]),
    )
    numbers = _table(
        ("OUTPUT OF", "NAME", "EQUAL ON", "LARGEST DIFFERENCE"),
        (
            row
            for source, comparisons in (
                ("onnx", document["comparisons"]),
                *((target["target"], target["comparisons"]) for target in document.get("targets", ())),
                *((item["precision"], item["comparisons"]) for item in (document.get("lowered"),) if item),
            )
            for row in _numbers(source, comparisons)
        ),
    )
    notes = [Text(f"note: {note}") for note in document["notes"]]
    files = _table(("FILE", "BYTES"), ((file["path"], str(file["bytes"])) for file in document["files"]))
    return Group(verdict, "", tried, "", numbers, *_times(document), *notes, "", files, Text(f"in {path.parent}"))


def _times(document: dict[str, Any]) -> Iterable[RenderableType]:
    """Of a model that was made smaller, before and after."""
    if timings := document.get("timings"):
        yield ""
        yield _table(
            ("MODEL", "BATCH", "MEDIAN", "99 %", "ROWS A SECOND"),
            (
                (
                    item["model"],
                    str(item["batch"]),
                    f"{item['p50_ms']} ms",
                    f"{item['p99_ms']} ms",
                    f"{item['rows_per_second']:,.0f}",
                )
                for item in timings
            ),
        )


def _numbers(source: str, comparisons: list[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for name in dict.fromkeys(item["output"] for item in comparisons):
        own = [item for item in comparisons if item["output"] == name]
        equal = sum(item["passed"] for item in own)
        yield source, name, f"{equal} of {len(own)} inputs", f"{max(item['max_abs'] for item in own):.1e}"


def _table(headings: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = output.folding(headings)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def register(app: typer.Typer) -> None:
    app.command("report")(report)
