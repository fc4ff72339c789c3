"""The report as a page: one file, no scripts, nothing fetched, light and dark. Every value is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from trainyard.common.contract.quantities import human_bytes, human_seconds
from trainyard.converter.core.report import ConversionReport

_environment = Environment(
    loader=PackageLoader("trainyard.converter", "templates"), autoescape=True, undefined=StrictUndefined
)
_environment.filters["bytes"] = human_bytes
_environment.filters["duration"] = human_seconds


def render(report: ConversionReport) -> str:
    return _environment.get_template("report.html").render(report=report)
