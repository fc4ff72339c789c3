"""The part of an attempt's plan that is this pod's: the processes of one replica of one role."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainyard.worker.pod import source

INDEX = ("JOB_COMPLETION_INDEX", "VC_TASK_INDEX")
"""Who numbers the pods of a role: the Job controller, or Volcano."""


class BadPlan(Exception):
    """In a sentence: what is missing, and where."""


@dataclass(frozen=True)
class Rank:
    rank: int
    command: list[str]
    cwd: str
    env: dict[str, str]
    """Its own; the rest is the container's."""

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        return {**inherited, **self.env}


@dataclass(frozen=True)
class Replica:
    ranks: list[Rank]
    grace: float
    """Seconds between SIGTERM and SIGKILL."""
    hosts: list[str]
    """Names that have to resolve before anything is started."""
    source: tuple[str, str] | None = None
    """An archive, and the folder that it becomes."""

    def mark(self, rank: int) -> bytes:
        """Before each line of a rank, where there are several."""
        return b"[%d] " % rank if len(self.ranks) > 1 else b""


def read(env: Mapping[str, str]) -> Replica:
    """Raises BadPlan."""
    path, role = _required(env, "TRAINYARD_PLAN"), _required(env, "TRAINYARD_ROLE")
    index = next((env[name] for name in INDEX if env.get(name)), "")
    if not index.isdecimal():
        raise BadPlan(f"neither {' nor '.join(INDEX)} says which pod of role {role!r} this is")
    try:
        with gzip.open(path) as file:
            document = json.loads(file.read())
    except (OSError, EOFError, ValueError) as error:
        raise BadPlan(f"the plan at {path} cannot be read: {error}") from error
    return _replica(document, role, int(index))


def _replica(document: Any, role: str, index: int) -> Replica:
    try:
        if role not in document["roles"]:
            raise BadPlan(f"the plan has no role {role!r}; it has {', '.join(sorted(document['roles']))}")
        mine = document["roles"][role]
        count = int(mine["processes"])
        found = mine["ranks"][index * count : (index + 1) * count]
        ranks = [Rank(int(item["rank"]), list(item["command"]), item["cwd"], dict(item["env"])) for item in found]
        grace, hosts = float(document["grace"]), list(document.get("hosts", ()))
        sent = document.get("source")
        folder = (str(sent["archive"]), str(sent["folder"])) if sent else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadPlan(f"the plan is not one that this runner knows: {error!r}") from error
    if not ranks:
        raise BadPlan(f"the plan has no pod {index} of role {role!r}")
    return Replica(ranks, grace, hosts, folder)


def unpack(replica: Replica) -> None:
    """The job's folder, where it was sent along. Raises BadPlan."""
    if replica.source is None:
        return
    try:
        source.unpack(*replica.source)
    except (OSError, zipfile.BadZipFile) as error:
        raise BadPlan(f"the job's folder cannot be unpacked from {replica.source[0]}: {error}") from error


def make_folders(rank: Rank, env: Mapping[str, str]) -> None:
    """What the job finds there, whether or not another pod was faster. Raises BadPlan."""
    reports = env.get("TRAINYARD_REPORT")
    wanted = [env.get("TRAINYARD_OUTPUT"), env.get("TRAINYARD_CHECKPOINT"), os.path.dirname(reports or "")]  # noqa: PTH120
    try:
        for folder in filter(None, wanted):
            Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadPlan(
            f"the folder {error.filename} cannot be made: {error.strerror}; is the volume writable?"
        ) from error
    if not os.path.isdir(rank.cwd):  # noqa: PTH112
        raise BadPlan(
            f"the working folder {rank.cwd} of rank {rank.rank} is not in the image; see `workdir` in the job file"
        )


def _required(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise BadPlan(f"{name} is not set: the runner is started by Trainyard's launcher, not by hand")
    return env[name]
