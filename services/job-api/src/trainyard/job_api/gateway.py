"""What HTTP routes and NATS commands share: the log, the read model, and who may ask."""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.common.bus.port import Commands, EventLog
from trainyard.common.clock import Clock
from trainyard.common.contract.templates import OperatorLimits
from trainyard.common.logs.reader import LogStore
from trainyard.job_api.ports import Changes, Nodes, Reads, Templates, Workdirs


@dataclass(frozen=True, slots=True)
class Gateway:
    log: EventLog
    commands: Commands
    """What other services answer."""
    reads: Reads
    changes: Changes
    logs: LogStore
    workdirs: Workdirs
    clock: Clock
    templates: Templates
    nodes: Nodes
    limits: OperatorLimits
