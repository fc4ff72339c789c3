"""What every event is: of which entity, of which kind, and by which id it is known once and for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from trainyard.common.contract.model import Fact


class Event(Fact, ABC):
    entity: ClassVar[Literal["job", "conversion", "device", "node"]]
    kind: ClassVar[str]

    @abstractmethod
    def entity_id(self) -> str:
        """Which job, conversion or node it is about."""

    def discriminator(self) -> str:
        """Empty where a job can have only one event of this kind."""
        return ""

    def event_id(self) -> str:
        """Deterministic: the CloudEvents id and the Nats-Msg-Id."""
        parts = (self.entity_id(), self.kind, self.discriminator())
        return "/".join(part for part in parts if part)
