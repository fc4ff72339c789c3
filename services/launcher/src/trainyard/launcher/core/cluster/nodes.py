"""A node of the cluster as the inventory has it. Pure.

What its resources mean (which product, which vendor) is the matrix's knowledge; here is only what the node says.
"""

from __future__ import annotations

import re
from typing import Any

from trainyard.common.contract.inventory import Node
from trainyard.launcher.core.cluster.pods import seconds

_QUANTITY = re.compile(r"(?P<number>[-+]?[0-9.]+)(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?")
_DECIMAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Kubernetes' words for an architecture → the kernel's."""


def read(document: dict[str, Any]) -> Node:
    metadata, status = document["metadata"], document.get("status") or {}
    allocatable = status.get("allocatable") or {}
    architecture = (status.get("nodeInfo") or {}).get("architecture", "amd64")
    return Node(
        name=metadata["name"],
        backend="kubernetes",
        machine=_MACHINES.get(architecture, architecture),
        cpu=quantity(allocatable.get("cpu")),
        memory=int(quantity(allocatable.get("memory"))),
        resources={name: quantity(count) for name, count in allocatable.items() if "/" in name},
        labels=metadata.get("labels") or {},
        uid=metadata.get("uid"),
        boot=(status.get("nodeInfo") or {}).get("bootID") or None,
        created_at=seconds(metadata.get("creationTimestamp")) or None,
        fault=_fault(document.get("spec") or {}, status),
    )


def quantity(text: str | None) -> float:
    """`1500m` → 1.5, `16Gi` → 17179869184; 0 for what is none. Source: apimachinery `resource.Quantity`."""
    found = _QUANTITY.fullmatch(text or "0")
    if found is None:
        return 0.0
    suffix = found["suffix"] or ""
    if suffix.endswith("i"):
        return float(found["number"]) * 1024.0 ** ("KMGTPE".index(suffix[0]) + 1)
    if len(suffix) > 1:
        return float(f"{found['number']}{suffix}")
    return float(found["number"]) * _DECIMAL[suffix]


def _fault(spec: dict[str, Any], status: dict[str, Any]) -> str | None:
    ready = next((item for item in status.get("conditions") or () if item["type"] == "Ready"), None)
    if ready is not None and ready.get("status") != "True":
        return f"not ready: {ready.get('message') or ready.get('reason') or 'it does not say why'}"
    return "closed for new pods (cordoned)" if spec.get("unschedulable") else None
