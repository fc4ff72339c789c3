"""Any command. Ranks are told their numbers (TRAINYARD_RANK …) like everybody's; no process group is formed."""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Place, Rendezvous


def environment(place: Place, rendezvous: Rendezvous) -> dict[str, str]:
    del place, rendezvous
    return {}
