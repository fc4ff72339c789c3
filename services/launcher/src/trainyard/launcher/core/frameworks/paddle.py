"""PaddlePaddle: collective training, parameter servers, and its own launcher with elasticity.

Sources: paddle `distributed/launch/context/args_envs.py` (what the launcher reads), `controllers/collective.py` and
`controllers/ps.py` (what it gives its children, which we give ourselves). The job id must be unique: two jobs that are
called `default` meet in one rendezvous.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Command, Group, Place, Unit, script_of


def _trainer(place: Place, group: Group) -> dict[str, str]:
    trainers = group.endpoints("worker")
    environment = {
        "PADDLE_MASTER": group.rendezvous.address,
        "PADDLE_JOB_ID": group.job_id,
        "PADDLE_TRAINER_ID": str(place.index),
        "PADDLE_TRAINERS_NUM": str(len(trainers)),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(trainers),
        "PADDLE_CURRENT_ENDPOINT": group.endpoint(place),
        "PADDLE_RANK_IN_NODE": str(place.process),
        "PADDLE_LOCAL_SIZE": str(place.processes),
    }
    # Its default is nccl, and there is no falling back.
    return {**environment, "PADDLE_DISTRI_BACKEND": "gloo"} if group.accelerator == "cpu" else environment


def _parameter_server(place: Place, group: Group) -> dict[str, str]:
    host, _, port = group.endpoint(place).rpartition(":")
    return {
        "PADDLE_JOB_ID": group.job_id,
        "TRAINING_ROLE": "PSERVER" if place.role == "ps" else "TRAINER",
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(group.endpoints("ps")),
        "PADDLE_TRAINERS_NUM": str(len(group.of("worker"))),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(group.endpoints("worker")),
        "POD_IP": host,
        "PADDLE_PORT": port,
        **({"PADDLE_TRAINER_ID": str(place.index)} if place.role == "worker" else {}),
    }


def _agent(place: Place, group: Group) -> dict[str, str]:
    elastic = group.elastic
    nodes = f"{min(elastic.min_replicas, group.nodes)}:{group.nodes}" if elastic else str(group.nodes)
    return {
        "PADDLE_MASTER": group.rendezvous.address,
        "PADDLE_JOB_ID": f"{group.job_id}.{group.attempt}",
        "PADDLE_NNODES": nodes,
        "PADDLE_NPROC_PER_NODE": str(place.starts),
        "PADDLE_RANK": str(place.node),
        "PADDLE_MAX_RESTART": str(elastic.restarts if elastic else 0),
        "PADDLE_ELASTIC_LEVEL": "1" if elastic else "-1",
        "POD_IP": group.endpoint(place).rpartition(":")[0],
        "PADDLE_LOG_DIR": f"{group.output}/paddle_log",
    }


def _environment(place: Place, group: Group) -> dict[str, str]:
    if group.of("ps"):
        return _parameter_server(place, group)
    return _agent(place, group) if group.mode == "launch" else _trainer(place, group)


def _command(command: Command, place: Place, group: Group) -> Command:
    del place
    if group.mode != "launch" or group.of("ps"):
        return command
    # It starts scripts, by its own interpreter, and anything else as a program.
    return ("python", "-m", "paddle.distributed.launch", *script_of(command))


def _serves(place: Place, roles: frozenset[str]) -> bool:
    del roles
    return place.role == "ps"


ADAPTER = Adapter(_environment, _command, {"launch": Unit.REPLICA}, _serves)
