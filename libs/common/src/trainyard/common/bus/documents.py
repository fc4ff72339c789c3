"""Reading what lies in buckets: written by other releases or other programs, so it may not be what is expected."""

from __future__ import annotations

from typing import TypeVar

import structlog
from pydantic import ValidationError

from trainyard.common.bus.keyvalue import Entry
from trainyard.common.contract.model import Fact

log = structlog.get_logger()

D = TypeVar("D", bound=Fact)


def document(entry: Entry, kind: type[D]) -> D | None:
    """None for what cannot be read, which is logged and stays where it is."""
    try:
        return kind.parse(entry.value)
    except ValidationError as error:
        log.warning("a document cannot be read", key=entry.key, expected=kind.__name__, error=str(error))
        return None
