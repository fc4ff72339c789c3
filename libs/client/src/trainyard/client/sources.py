"""The folder of a job, where it has to be sent before the job: when, and as what."""

from __future__ import annotations

from pathlib import Path

from trainyard.client.calls import Document
from trainyard.common.contract.views import SourcesView


def folder_of(document: Document) -> Path | None:
    """The folder of this machine that the job would run in; None where there is none, or the job says itself where its
    content comes from."""
    workdir = document.get("workdir")
    if not isinstance(workdir, str) or document.get("source") is not None:
        return None
    try:
        folder = Path(workdir)
        return folder if folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError):  # a name that no folder can have; the gateway says so
        return None


def must_be_sent(terms: SourcesView) -> bool:
    return terms.wanted and not terms.shared
