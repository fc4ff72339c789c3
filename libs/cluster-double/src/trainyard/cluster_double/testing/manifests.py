"""The smallest objects that a server takes."""

from __future__ import annotations

from typing import Any

from trainyard.cluster_double.core.objects import Json


def a_container(**more: Any) -> Json:
    return {"name": "main", "image": "example.com/train:1", **more}


def a_pod(name: str, *, labels: dict[str, str] | None = None, container: Json | None = None, **spec: Any) -> Json:
    """`spec` goes into the pod's spec."""
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    body = {"restartPolicy": "Never", "containers": [a_container(**(container or {}))], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def a_job(name: str, *, pod: Json | None = None, **spec: Any) -> Json:
    """`pod` goes into the template's spec, `spec` into the job's."""
    template = {"spec": {"restartPolicy": "Never", "containers": [a_container()], **(pod or {})}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def a_config(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Json:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return {**body, "data": data} if data is not None else body


def a_definition(group: str, schema: Json, **version: Any) -> Json:
    """A CustomResourceDefinition of `widgets` with one version; `version` goes into that."""
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]}
    only = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [only]},
    }


def requests(**amounts: str) -> Json:
    """A container's resources. Extended ones are limited, as they must be: `requests(cpu="1", gpu="2")`."""
    plain = {name: value for name, value in amounts.items() if name != "gpu"}
    limits = {"nvidia.com/gpu": amounts["gpu"]} if "gpu" in amounts else {}
    return {"resources": {**({"requests": plain} if plain else {}), **({"limits": limits} if limits else {})}}
