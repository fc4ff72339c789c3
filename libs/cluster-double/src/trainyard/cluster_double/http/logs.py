"""GET pods/NAME/log: asked of the kubelet of the pod's node, over TLS, as a real API server asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import aiohttp

from trainyard.cluster_double.api import update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.core.errors import ApiError, bad_request
from trainyard.cluster_double.core.objects import Json, spec_of, status_of

_PASSED = ("follow", "tailLines", "sinceSeconds", "sinceTime", "timestamps", "limitBytes", "previous")


def kubelet_url(cluster: Cluster, namespace: str, name: str, query: Mapping[str, str]) -> str | None:
    """Where the log is; None for a pod that is on no node yet, which has an empty one. Raises ApiError."""
    pod = update.require(cluster, cluster.registry.named("pods"), namespace, name)
    container = _container(pod, name, query.get("container", ""))
    node_name = spec_of(pod).get("nodeName")
    if not node_name:
        return None
    node = update.require(cluster, cluster.registry.named("nodes"), "", node_name)
    return f"{_address(node)}/containerLogs/{namespace}/{name}/{container}"


def passed_on(query: Mapping[str, str]) -> dict[str, str]:
    return {name: query[name] for name in _PASSED if name in query}


async def lines(session: aiohttp.ClientSession, url: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The kubelet's answer. Raises ApiError with what it says when it refuses or cannot be reached."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    try:
        async with session.get(url, params=passed_on(query), ssl=False, timeout=timeout) as response:
            if response.status != 200:
                said = (await response.text()).strip()
                raise ApiError(response.status, _REASONS.get(response.status, "InternalError"), said)
            async for chunk in response.content.iter_any():
                yield chunk
    except aiohttp.ClientConnectorError as fault:
        raise ApiError(500, "InternalError", f'Get "{url}": dial tcp: {fault.os_error}') from None


_REASONS = {400: "BadRequest", 404: "NotFound"}


def _container(pod: Json, name: str, wanted: str) -> str:
    spec = spec_of(pod)
    names = [str(one["name"]) for one in spec.get("containers") or ()]
    first = [str(one["name"]) for one in spec.get("initContainers") or ()]
    if not wanted:
        if len(names) == 1:
            return names[0]
        also = f" or one of the init containers: [{' '.join(first)}]" if first else ""
        raise bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]{also}"
        )
    if wanted not in {*names, *first}:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def _address(node: Json) -> str:
    status = status_of(node)
    addresses = {one["type"]: one["address"] for one in status.get("addresses") or ()}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    host = next((addresses[kind] for kind in ("Hostname", "InternalDNS", "InternalIP") if kind in addresses), None)
    if not host or not port:
        raise ApiError(500, "", "no preferred addresses found; known addresses: []")
    return f"https://{host}:{port}"
