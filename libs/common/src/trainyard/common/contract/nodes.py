"""Nodes that are to blame for the end of attempts, and nodes that jobs keep away from.

A node is known by its name together with what tells it from another one that bears the name later.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from trainyard.common.contract.event import Event
from trainyard.common.contract.model import Fact
from trainyard.common.lifecycle.states import EndReason


class Machine(Fact):
    """One node, for as long as it is the same one."""

    node: str
    """Its name."""
    uid: str | None = None
    """Of the cluster's object; absent: nobody knew any more which one it was, or it is a machine of its own."""
    boot: str | None = None
    """Of its kernel's present run."""

    def is_same(self, other: Machine) -> bool:
        """A node that was deleted and made anew under its name is another one; a machine whose object alone was made anew
        goes on with the boot that it had. One that boots again stays the same: a kernel that panics does just that."""
        if self.node != other.node or self.uid is None or other.uid is None:
            return False
        return self.uid == other.uid or (self.boot is not None and self.boot == other.boot)


class Blamed(Machine):
    """A node that was to blame for the end of an attempt."""

    reason: EndReason
    message: str = ""


class Avoided(Fact):
    """A node that an attempt keeps away from."""

    node: str
    why: str
    by_hand: bool = False
    """Somebody has said so: it is kept away from whatever that costs."""


class NodeEvent(Event):
    entity: ClassVar[Literal["node"]] = "node"
    node: str
    uid: str | None = None
    boot: str | None = None
    number: int
    """The sequence of the node's event before this one; 0: it is the first."""
    by: str
    """Who says so; `trainyard`: the launchers, by what befell jobs there."""
    message: str = ""

    def entity_id(self) -> str:
        return self.node

    def discriminator(self) -> str:
        # Of two who speak at once the log must not take the second for a repetition of the first.
        said = self.model_dump_json(exclude={"number"})
        return f"{self.number}.{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    @property
    def machine(self) -> Machine:
        return Machine(node=self.node, uid=self.uid, boot=self.boot)


class NodeAvoided(NodeEvent):
    """No job begins there until then; what runs there goes on."""

    kind: ClassVar[str] = "avoided"
    seconds: Annotated[float, Field(gt=0)]
    """For how long, from the time of this event."""
    until: float
    """Unix seconds."""


class NodeForgiven(NodeEvent):
    """Jobs begin there again, and what it was blamed for until now is forgotten."""

    kind: ClassVar[str] = "forgiven"


BY_ITSELF = "trainyard"
"""Stands in `by` where nobody has said so."""
NODE_EVENTS: dict[str, type[NodeEvent]] = {cls.kind: cls for cls in (NodeAvoided, NodeForgiven)}
