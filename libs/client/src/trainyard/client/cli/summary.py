"""What the main job ends with: accuracy, and where model, report and panel are."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from trainyard.client.cli import output
from trainyard.client.yard.layout import Layout
from trainyard.common.contract.views import JobView


def show(job: JobView, layout: Layout) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("job", f"{job.name} {output.state(job.state)} ({job.job_id})")
    if job.message:
        table.add_row("message", Text(job.message))
    accuracy = (job.progress or {}).get("metrics", {}).get("accuracy")
    if accuracy is not None:
        table.add_row("accuracy", f"{accuracy:.4f} on held-out samples")
    for conversion in job.conversions:
        result = conversion.result or {}
        if conversion.state != "succeeded":
            table.add_row("conversion", output.conversion_words(conversion))
            continue
        table.add_row("proof", f"largest difference to the trained model {result['max_abs_error']:.1e}")
        served = result.get("served", {})
        if served.get("predicted") is not None:
            words = f"predicted {served['predicted']}, the trained model {served['reference']}"
            label = f", labelled {served['label']}" if served.get("label") is not None else ""
            table.add_row("served", f"{words}{label} ({served['server']})")
        table.add_row("model", result["onnx"])
        for target, folder in result.get("targets", {}).items():
            table.add_row(target, folder)
        table.add_row("triton", result["repository"])
        table.add_row("report", f"{layout.url('monitor')}/reports/{conversion.conversion_id}")
    table.add_row("panel", layout.url("monitor"))
    output.console.print(table)
