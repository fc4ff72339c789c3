"""That an attempt is being ended, why, and how those ranks had ended that were over by then.

Written onto the root of the attempt before anything is deleted: with the pods goes all that the cluster knew of them, and a
launcher that starts in between has to find out all the same which rank was to blame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.observation import Phase, RankSeen

MOST = 1000
"""Ranks that are written down; annotations have 256 KiB together."""


@dataclass(frozen=True, slots=True)
class Stopped:
    why: str
    ended: Mapping[int, RankSeen] = field(default_factory=dict)
    """Rank → its end, of those that ended by themselves."""
    placed: Mapping[int, str] = field(default_factory=dict)
    """Rank → its node, of those that had been placed and did not begin."""


def dump(why: str, ranks: Sequence[RankSeen]) -> str:
    over = sorted((rank for rank in ranks if rank.over and not rank.stopped), key=lambda rank: not rank.failed)
    placed = {str(rank.rank): rank.node for rank in ranks if rank.pending is not None and rank.node}
    return json.dumps(
        {
            "why": why,
            "ended": [
                {
                    "rank": rank.rank,
                    "phase": rank.phase,
                    **({"code": rank.exit_code} if rank.exit_code is not None else {}),
                    **({"signal": rank.signal} if rank.signal is not None else {}),
                    **({"reason": rank.reason} if rank.reason is not None else {}),
                    **({"message": rank.message[:200]} if rank.message else {}),
                    "at": rank.ended_at,
                    **({"rss": rank.max_rss} if rank.max_rss is not None else {}),
                    **({"cpu": rank.cpu_seconds} if rank.cpu_seconds is not None else {}),
                    **({"node": rank.node} if rank.node else {}),
                    **({"of_node": True} if rank.of_node else {}),
                }
                for rank in over[:MOST]
            ],
            "placed": dict(list(placed.items())[:MOST]),
        }
    )


def parse(text: str | None) -> Stopped | None:
    """None: nobody ends it. What cannot be read (somebody wrote over it) means that it is being ended."""
    if text is None:
        return None
    try:
        document = json.loads(text)
        return Stopped(
            str(document["why"]),
            {
                int(item["rank"]): RankSeen(
                    int(item["rank"]),
                    Phase(item["phase"]),
                    exit_code=_whole(item.get("code")),
                    signal=_whole(item.get("signal")),
                    reason=EndReason(item["reason"]) if "reason" in item else None,
                    message=str(item.get("message", "")),
                    ended_at=float(item["at"]),
                    max_rss=_whole(item.get("rss")),
                    cpu_seconds=None if item.get("cpu") is None else float(item["cpu"]),
                    of_node=item.get("of_node") is True,
                    node=str(item.get("node", "")),
                )
                for item in document["ended"]
            },
            {int(rank): str(node) for rank, node in document.get("placed", {}).items()},
        )
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return Stopped("it is being ended")


def _whole(value: Any) -> int | None:
    """Raises TypeError and ValueError for what cannot be one."""
    return None if value is None else int(value)
