"""What may be asked of the matrix: what it would answer to a job file, and what it knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from trainyard.common.bus.port import CommandHandler, Request
from trainyard.common.contract.commands import Answer, ResolveJob, ShowMatrix
from trainyard.common.contract.explain import nearest, validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.views import ExplanationView, FindingView, MatrixView, ReasonView
from trainyard.common.errors import InvalidInput
from trainyard.matrix.core.facts import Row
from trainyard.matrix.core.lint import lint
from trainyard.matrix.core.resolve import Rejection
from trainyard.matrix.handlers import Matrix


async def on_resolve(matrix: Matrix, command: ResolveJob) -> ExplanationView:
    """Raises InvalidInput for what is no job file; a job that fits nowhere is an answer, not an error."""
    outcome = matrix.resolve(validate(JobSpec, command.spec), anywhere=command.anywhere)
    reasons = [ReasonView.model_validate(reason.model_dump()) for reason in outcome.reasons]
    if isinstance(outcome, Rejection):
        return ExplanationView(fits=False, message=outcome.message, nearest=list(outcome.nearest), reasons=reasons)
    resolution = outcome.model_dump(mode="json", exclude_none=True, exclude={"reasons"})
    return ExplanationView(fits=True, resolution=resolution, reasons=reasons)


async def on_show(matrix: Matrix, command: ShowMatrix) -> MatrixView:
    """Raises InvalidInput for a framework that no table knows."""
    wanted, facts = command.framework, matrix.catalogue.facts
    images = [image for image in matrix.catalogue.images if wanted in {None, image.framework}]
    images.sort(key=lambda image: image.framework)  # within one they stand newest first
    known = sorted({*facts.releases, *matrix.catalogue.by_framework})
    if wanted is not None and wanted not in known:
        raise InvalidInput.one(f"the matrix knows nothing of {wanted!r}", "framework", nearest(wanted, known))
    return MatrixView(
        tables={name: [dict(row) for row in rows if _is_of(row, wanted)] for name, rows in facts.tables.items()},
        images=[
            {
                "name": image.name,
                "framework": image.framework,
                "version": str(image.version or ""),
                "accelerators": list(image.accelerators),
                "stack": f"{image.stack} {image.stack_version}".strip(),
                "features": list(image.features),
            }
            for image in images
        ],
        findings=[
            FindingView(table=item.table, row=item.row, text=item.text, fault=item.fault)
            for item in lint(facts, matrix.today())
            if wanted is None or item.row.startswith(wanted)
        ],
    )


def _is_of(row: Row, framework: str | None) -> bool:
    """Rows that name no framework concern all of them."""
    return framework is None or row.get("framework", "") in {"", framework}


HANDLERS: dict[str, Callable[[Matrix, Any], Awaitable[ExplanationView | MatrixView]]] = {
    ResolveJob.kind: on_resolve,
    ShowMatrix.kind: on_show,
}


def bound(matrix: Matrix) -> Mapping[str, CommandHandler]:
    """The table as the bus serves it."""

    def bind(handler: Callable[[Matrix, Any], Awaitable[ExplanationView | MatrixView]]) -> CommandHandler:
        async def answer(request: Request) -> Answer:
            view = await handler(matrix, request.command)
            return Answer(status=200, body=view.model_dump(mode="json", exclude_none=True))

        return answer

    return {kind: bind(handler) for kind, handler in HANDLERS.items()}
