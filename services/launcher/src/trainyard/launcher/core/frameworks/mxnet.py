"""Apache MXNet's parameter servers (ps-lite): a scheduler, servers and workers, all running the same command.

Source: ps-lite's documentation, "Environment Variables": `import mxnet` in a scheduler or server serves and never returns.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place


def _environment(place: Place, group: Group) -> dict[str, str]:
    if group.size == 1:
        return {}
    return {
        "DMLC_ROLE": place.role,
        "DMLC_PS_ROOT_URI": group.rendezvous.host,
        "DMLC_PS_ROOT_PORT": str(group.rendezvous.port),
        "DMLC_NUM_SERVER": str(len(group.of("server"))),
        "DMLC_NUM_WORKER": str(len(group.of("worker"))),
        "DMLC_NODE_HOST": group.endpoint(place).rpartition(":")[0],
        **({"DMLC_WORKER_ID": str(place.index)} if place.role == "worker" else {}),
    }


def _serves(place: Place, roles: frozenset[str]) -> bool:
    del roles
    return place.role in {"scheduler", "server"}


ADAPTER = Adapter(_environment, serves=_serves)
