"""Findings, as the parts make them. Pure."""

from __future__ import annotations

from trainyard.common.contract.findings import Finding
from trainyard.launcher.core.cluster.survey import Running


def ok(subject: str, text: str) -> Finding:
    return Finding(level="ok", subject=subject, text=text)


def note(subject: str, text: str) -> Finding:
    return Finding(level="note", subject=subject, text=text)


def fault(subject: str, text: str) -> Finding:
    return Finding(level="fault", subject=subject, text=text)


def of_running(subject: str, found: Running, why: str) -> Finding:
    if found.ready >= found.wanted:
        return ok(subject, f"{why} ({found.ready} of {found.wanted} ready)")
    text = f"{found.name}: {found.ready} of {found.wanted} are ready"
    return fault(subject, text)
