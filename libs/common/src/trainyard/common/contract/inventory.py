"""What nodes a yard has: told by launchers, read by the matrix, by people and by other systems.

One document a node in the bucket `trainyard-nodes`, under `<backend>.<node>`. A cluster's nodes are there until the cluster
has them no more. A machine of its own tells again and again, and is forgotten when it has been silent for a while: nobody
else would notice that it is gone.
"""

from __future__ import annotations

from trainyard.common.contract import subjects
from trainyard.common.contract.model import Fact
from trainyard.common.contract.nodes import Machine

BUCKET = "trainyard-nodes"


class NodeAccelerators(Fact):
    """Accelerators of one product on a node."""

    product: str
    """In the vendor's own words: `NVIDIA A100-SXM4-80GB`; the value of the node label where a cluster has one."""
    count: int
    kind: str = "gpu"
    resource: str = ""
    """What a pod asks for, such as `nvidia.com/gpu`."""
    memory: int | None = None
    """Bytes of each."""
    driver: str | None = None


class Node(Fact):
    name: str
    backend: str
    """`local` or `kubernetes`."""
    machine: str = "x86_64"
    """CPU architecture as the kernel calls it."""
    cpu: float = 0.0
    """Cores that jobs may have."""
    memory: int = 0
    """Bytes that jobs may have."""
    accelerators: tuple[NodeAccelerators, ...] = ()
    resources: dict[str, float] = {}
    """Of a cluster's node: what pods may ask for by name, such as `nvidia.com/gpu`; what it is, the labels say."""
    labels: dict[str, str] = {}
    fault: str | None = None
    """Why nothing is placed there at this moment, in words; absent: it takes jobs."""
    avoided_until: float | None = None
    """Unix seconds until which no job begins there, since too much ended badly there or somebody has said so."""
    avoided_for: str | None = None
    """Why, in words."""
    uid: str | None = None
    """Of a cluster's node: it tells this one from another that had its name before."""
    boot: str | None = None
    """Of its kernel's present run."""
    created_at: float | None = None
    """Unix seconds."""
    expires_at: float | None = None
    """Unix seconds; absent: it is there until somebody takes it away."""

    @property
    def key(self) -> str:
        return f"{self.backend}.{subjects.token(self.name)}"

    @property
    def itself(self) -> Machine:
        """What tells it from another node that bears its name later."""
        return Machine(node=self.name, uid=self.uid, boot=self.boot)

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at < now
