"""MindSpore: msrun on every replica, a dynamic cluster whose scheduler is a role of the job, or a rank table on Ascend.

Sources: mindspore `parallel/cluster/process_entity/_api.py` (what msrun takes and gives); for the rank table (RANK_ID,
RANK_SIZE, DEVICE_ID) MindSpore's documentation "Rank Table Startup": that mode has never been run by us.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Command, Group, Place, Unit, script_of

CLUSTER_TIMEOUT = 300
"""Seconds that msrun waits for all processes."""


def _environment(place: Place, group: Group) -> dict[str, str]:
    if group.of("scheduler"):
        return _cluster(place, group)
    if group.mode == "rank-table":
        return {"RANK_ID": str(place.rank), "RANK_SIZE": str(place.world_size), "DEVICE_ID": str(place.process)}
    return {}


def _cluster(place: Place, group: Group) -> dict[str, str]:
    scheduler = place.role == "scheduler"
    return {
        "MS_ROLE": "MS_SCHED" if scheduler else "MS_WORKER",
        "MS_SCHED_HOST": group.rendezvous.host,
        "MS_SCHED_PORT": str(group.rendezvous.port),
        "MS_WORKER_NUM": str(len(group.of("worker"))),
        **({} if scheduler else {"MS_NODE_ID": str(place.index)}),
    }


def _command(command: Command, place: Place, group: Group) -> Command:
    if group.mode != "msrun" or group.of("scheduler") or group.size == 1:
        return command
    return (
        "msrun",
        f"--worker_num={group.size}",
        f"--local_worker_num={place.starts}",
        f"--master_addr={group.rendezvous.host}",
        f"--master_port={group.rendezvous.port}",
        f"--node_rank={place.node}",
        f"--cluster_time_out={CLUSTER_TIMEOUT}",
        f"--log_dir={group.output}/msrun_log",
        "--join=True",
        *script_of(command),
    )


def _serves(place: Place, roles: frozenset[str]) -> bool:
    del roles
    return place.role == "scheduler"


ADAPTER = Adapter(_environment, _command, {"msrun": Unit.REPLICA}, _serves)
