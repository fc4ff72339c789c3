"""Containers bring their own interpreter: there is nothing to build on this side."""

from __future__ import annotations

from trainyard.launcher.core.plan import Interpreter


class ContainerImages:
    """Implements ports.Images."""

    def interpreter(self, image: str) -> Interpreter | None:
        del image
        return Interpreter(python=None, bin=None)

    async def build(self, image: str) -> Interpreter:
        """A node pulls it; a node that cannot says so in the status of the pod."""
        del image
        return Interpreter(python=None, bin=None)

    async def fraction(self, image: str) -> float | None:
        del image
        return None
