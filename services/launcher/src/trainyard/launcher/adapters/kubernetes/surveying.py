"""Looks at everything of a cluster that a survey tells of; changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from trainyard.common.contract import crd
from trainyard.launcher.adapters.kubernetes import discovery
from trainyard.launcher.adapters.kubernetes.api import Api, Document, Refused
from trainyard.launcher.core.cluster import nodes, survey
from trainyard.launcher.core.cluster.rights import Right
from trainyard.launcher.core.cluster.survey import Survey

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SECURITY = "pod-security.kubernetes.io/enforce"
_KUEUE = "kueue.x-k8s.io/"
OURS = "app.kubernetes.io/part-of=trainyard"
AT_ONCE = 8  # questions; a cluster's clients are counted


async def look(api: Api, namespace: str, needs: Iterable[Right]) -> Survey:
    """Raises Unavailable when the API server does not answer."""
    groups = await discovery.groups(api)
    version, denied = await api.call("GET", "/version"), await _denied(api, namespace, tuple(needs))
    found = await _listed(api, "/api/v1/nodes")
    daemons = await _listed(api, "/apis/apps/v1/daemonsets")
    services = await _listed(api, f"/apis/apps/v1/namespaces/{namespace}/deployments", OURS)
    queues = await _queues(api, namespace, groups)
    classes = await _listed(api, "/apis/storage.k8s.io/v1/storageclasses")
    claims = await _listed(api, f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
    home = await _one(api, f"/api/v1/namespaces/{namespace}")
    return Survey(
        namespace=namespace,
        version=str(version.get("gitVersion", "")),
        groups=groups,
        nodes=None if found is None else tuple(nodes.read(item) for item in found),
        daemons=None if daemons is None else tuple(survey.running(item) for item in daemons),
        services=None if services is None else tuple(survey.running(item) for item in services),
        queues=queues,
        classes=None if classes is None else {_name(item): survey.is_default(item) for item in classes},
        claims=None if claims is None else tuple(survey.claim(item) for item in claims),
        security=((home or {}).get("metadata", {}).get("labels") or {}).get(_SECURITY),
        exists=home is not None,
        definition=await _one(api, f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd.PLURAL}.{crd.GROUP}"),
        denied=denied,
    )


async def _listed(api: Api, path: str, labels: str | None = None) -> list[Document] | None:
    """Every item, page by page; None: this account may not list them."""
    found: list[Document] = []
    try:
        async for page in api.pages(path, {"labelSelector": labels} if labels else None):
            found += page.get("items") or ()
    except Refused as error:
        return None if error.status == 403 else found
    return found


async def _one(api: Api, path: str) -> Document | None:
    """None: there is none. What may not be seen counts as being there, and nothing is known of it."""
    try:
        return await api.call("GET", path)
    except Refused as error:
        return {} if error.status == 403 else None


async def _queues(api: Api, namespace: str, groups: Iterable[str]) -> tuple[str, ...] | None:
    served = sorted(version for version in groups if version.startswith(_KUEUE))
    if not served:
        return ()
    found = await _listed(api, f"/apis/{served[-1]}/namespaces/{namespace}/localqueues")
    return None if found is None else tuple(_name(item) for item in found)


async def _denied(api: Api, namespace: str, needs: tuple[Right, ...]) -> tuple[Right, ...]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def allowed(right: Right) -> bool:
        async with slots:
            answer = await api.call("POST", _REVIEW, None, _question(right, namespace))
        return bool((answer.get("status") or {}).get("allowed"))

    answers = await asyncio.gather(*(allowed(right) for right in needs))
    return tuple(right for right, yes in zip(needs, answers, strict=True) if not yes)


def _question(right: Right, namespace: str) -> Document:
    resource, _, part = right.resource.partition("/")
    attributes = {"group": right.group, "resource": resource, "subresource": part, "verb": right.verb}
    if right.namespaced:
        attributes["namespace"] = namespace
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def _name(document: Any) -> str:
    return str(document["metadata"]["name"])
