"""MPI programs, and Horovod by its own launcher or by MPI: one process starts all the others.

On one machine no hostfile and no ssh are needed. Sources: the MPI standard for `mpiexec -n`; Open MPI's FAQ for running as
root and for more processes than cores (`OMPI_MCA_*` up to 4, `PRTE_MCA_*` from 5), which containers and small machines
need; Horovod's documentation for `horovodrun`.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Command, Group, Place, Unit

_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_ras_base_launch_orted_on_hn": "0",
}


def _environment(place: Place, group: Group) -> dict[str, str]:
    del place
    if group.mode == "gloo":
        return {"HOROVOD_GLOO_IFACE": group.rendezvous.interface}
    return {**_OPEN_MPI, "OMPI_MCA_btl_tcp_if_include": group.rendezvous.interface}


def _command(command: Command, place: Place, group: Group) -> Command:
    if group.mode == "gloo":
        hosts = f"{group.rendezvous.host}:{place.starts}"
        return ("horovodrun", "--gloo", "-np", str(place.starts), "-H", hosts, *command)
    return ("mpiexec", "-n", str(place.starts), *command)


MPI = Adapter(_environment, _command, {"mpirun": Unit.JOB})
HOROVOD = Adapter(_environment, _command, {"gloo": Unit.JOB, "mpi": Unit.JOB})
