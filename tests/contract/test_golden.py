"""Wire messages that were once valid are read for ever.

`golden/` is append-only: a message is added when its kind first ships or changes shape, and is never edited. If this test
fails, the code is wrong, not the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract.codec import decode
from trainyard.common.contract.events import EVENTS

GOLDEN = sorted(Path(__file__).parent.joinpath("golden").glob("*.json"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_a_message_of_the_past_is_read(file: Path) -> None:
    stored: dict[str, Any] = json.loads(file.read_text())
    recorded = decode(stored["subject"], stored["headers"], json.dumps(stored["data"]).encode(), 1)
    assert recorded.id == stored["headers"]["ce-id"]
    dumped = json.loads(recorded.event.dump())
    # Everything that the message said is still understood; what has been added since has defaults.
    assert _contains(dumped, stored["data"]), (dumped, stored["data"])


def test_every_kind_of_event_has_a_golden_message() -> None:
    have = {tuple(file.stem.split(".")[:2]) for file in GOLDEN}
    assert {(entity, kind) for entity, kinds in EVENTS.items() for kind in kinds} <= have


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(_contains, whole, part))
    return bool(whole == part)
