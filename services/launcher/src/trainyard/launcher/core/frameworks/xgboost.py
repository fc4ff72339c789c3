"""XGBoost: where its collective tracker is, and who this worker is. Rank 0 runs the tracker (see trainyard.worker).

Source: XGBoost's documentation of `xgboost.collective`.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place


def _environment(place: Place, group: Group) -> dict[str, str]:
    return {
        "DMLC_TRACKER_URI": group.rendezvous.host,
        "DMLC_TRACKER_PORT": str(group.rendezvous.port),
        "DMLC_TASK_ID": f"{place.rank:06d}",  # the tracker sorts them as text
        "DMLC_NUM_WORKER": str(place.world_size),
    }


ADAPTER = Adapter(_environment)
