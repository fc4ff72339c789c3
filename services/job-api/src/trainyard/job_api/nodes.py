"""What may be asked about nodes, each as a plain function, over HTTP and as NATS commands alike.

Nobody needs rights in the cluster for it: a node is neither cordoned nor tainted, jobs are only not placed there. What was
said stands in the log as an event of the node; the launchers go by it from then on.
"""

from __future__ import annotations

from typing import Any

from trainyard.common.bus.port import Request
from trainyard.common.contract.commands import AvoidNode, ForgiveNode
from trainyard.common.contract.explain import nearest
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.nodes import BY_ITSELF, NodeAvoided, NodeEvent, NodeForgiven
from trainyard.common.contract.quantities import human_seconds
from trainyard.common.errors import Conflict, InvalidInput, NotFound, StaleSequence, Unavailable
from trainyard.job_api.gateway import Gateway

ACCEPTED = 202
SHORTEST, LONGEST = 60.0, 30 * 86_400.0  # seconds for which a node may be avoided
LONGEST_MESSAGE = 500
MOST_NAMED = 50
"""Nodes that a refusal names."""
_TRIES = 20


async def avoid(gateway: Gateway, name: str, seconds: float, message: str, owner: str) -> tuple[int, Node]:
    """202 once it is durable; again: from now on for so long. Raises NotFound, InvalidInput, or Conflict for a machine."""
    if not SHORTEST <= seconds <= LONGEST:
        bounds = f"{human_seconds(SHORTEST)} to {human_seconds(LONGEST)}"
        raise InvalidInput.one(f"a node is avoided for {bounds}, not for {human_seconds(seconds)}", "for")
    node = await _node(gateway, name)
    if node.backend == "local":
        raise Conflict(f"{name} is a machine of its own: its jobs have nowhere else to go")
    until = round(gateway.clock.now().timestamp() + seconds, 3)

    def event(number: int) -> NodeEvent:
        return NodeAvoided(
            **dict(node.itself), number=number, by=_by(owner), message=_checked(message), seconds=seconds, until=until
        )

    await _tell(gateway, name, event)
    words = f"{_by(owner)}: {message}" if message else _by(owner)
    return ACCEPTED, node.model_copy(update={"avoided_until": until, "avoided_for": words})


async def forgive(gateway: Gateway, name: str, message: str, owner: str) -> tuple[int, Node]:
    """202 once it is durable: what the node was blamed for until now is forgotten. Again: the same. Raises NotFound."""
    node = await _node(gateway, name)

    def event(number: int) -> NodeEvent:
        return NodeForgiven(**dict(node.itself), number=number, by=_by(owner), message=_checked(message))

    await _tell(gateway, name, event)
    return ACCEPTED, node.model_copy(update={"avoided_until": None, "avoided_for": None})


async def _node(gateway: Gateway, name: str) -> Node:
    known = await gateway.nodes.all(gateway.clock.now().timestamp())
    found = next((node for node in known if node.name == name), None)
    if found is None:
        hint = nearest(name, [node.name for node in known]) if len(known) <= MOST_NAMED else "`yard nodes` shows them"
        raise NotFound(f"there is no node {name!r} ({hint})")
    return found


async def _tell(gateway: Gateway, name: str, event: Any) -> None:
    """After whatever was said of the node last."""
    for _ in range(_TRIES):
        told = await gateway.log.latest("node", name)
        number = told[-1].seq if told else 0
        try:
            await gateway.log.append(event(number), after=number)
        except StaleSequence:
            continue
        return
    raise Unavailable(f"so much is being said of node {name} that this was not heard; try again")


def _by(owner: str) -> str:
    """Somebody may bear the name by which the launchers speak: what people say counts for more than that."""
    return f"user/{owner}" if owner == BY_ITSELF else owner


def _checked(message: str) -> str:
    if len(message) > LONGEST_MESSAGE:
        raise InvalidInput.one(f"has {len(message)} characters, at most {LONGEST_MESSAGE} are kept", "message")
    return message


async def on_avoid(gateway: Gateway, request: Request, command: AvoidNode) -> tuple[int, Any]:
    return await avoid(gateway, command.node, command.seconds, command.message, request.source)


async def on_forgive(gateway: Gateway, request: Request, command: ForgiveNode) -> tuple[int, Any]:
    return await forgive(gateway, command.node, command.message, request.source)
