"""The smaller kinds: services, workloads, config, quotas, budgets, priority classes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from trainyard.cluster_double.core.errors import Cause, forbidden_value, invalid_value, required
from trainyard.cluster_double.core.objects import Json, labels_of, meta, name_of, spec_of, with_meta
from trainyard.cluster_double.core.rules import pods
from trainyard.cluster_double.core.selectors import from_object


def service_defaults(service: Json) -> Json:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", **spec_of(service)}
    if "ports" in spec:
        spec["ports"] = [
            {"protocol": "TCP", **port, "targetPort": port.get("targetPort") or port.get("port")}
            for port in spec["ports"]
        ]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec.get("clusterIP"):
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    return {**service, "spec": spec}


def service_faults(service: Json) -> Iterator[Cause]:
    spec = spec_of(service)
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
        yield required("spec.ports")
    for index, port in enumerate(ports):
        if not 1 <= port.get("port", 0) <= 65535:
            yield invalid_value(
                f"spec.ports[{index}].port", port.get("port", 0), "must be between 1 and 65535, inclusive"
            )
        if len(ports) > 1 and not port.get("name"):
            yield required(f"spec.ports[{index}].name")


def service_update_faults(old: Json, new: Json) -> Iterator[Cause]:
    before, after = spec_of(old).get("clusterIP"), spec_of(new).get("clusterIP")
    if before and before != after:
        yield invalid_value("spec.clusterIPs[0]", after or "", "may not change once set")


def namespace_defaults(namespace: Json) -> Json:
    marked = with_meta(namespace, labels={**labels_of(namespace), "kubernetes.io/metadata.name": name_of(namespace)})
    return {**marked, "spec": {"finalizers": ["kubernetes"], **spec_of(marked)}}


def _data_changed(old: Json, new: Json) -> bool:
    return any(old.get(part) != new.get(part) for part in ("data", "binaryData"))


def sealed_update_faults(old: Json, new: Json) -> Iterator[Cause]:
    """ConfigMaps and Secrets that were declared immutable."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden_value("immutable", "field is immutable when `immutable` is set")
    if _data_changed(old, new):
        yield forbidden_value("data", "field is immutable when `immutable` is set")


def secret_defaults(secret: Json) -> Json:
    """`stringData` is written into `data`."""
    plain = secret.get("stringData") or {}
    rest = {name: value for name, value in secret.items() if name != "stringData"}
    if plain:
        encoded = {name: base64.b64encode(value.encode()).decode() for name, value in plain.items()}
        rest["data"] = {**(rest.get("data") or {}), **encoded}
    return {**rest, "type": rest.get("type") or "Opaque"}


def secret_faults(secret: Json) -> Iterator[Cause]:
    for name, value in (secret.get("data") or {}).items():
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            yield invalid_value(f"data[{name}]", "", "illegal base64 data")


def secret_update_faults(old: Json, new: Json) -> Iterator[Cause]:
    if old.get("type") != new.get("type"):
        yield invalid_value("type", new.get("type"), "field is immutable")
    yield from sealed_update_faults(old, new)


def workload_defaults(workload: Json) -> Json:
    """Deployments, stateful sets and the like."""
    spec = {"replicas": 1, "revisionHistoryLimit": 10, **spec_of(workload)}
    if "template" in spec:
        template = spec["template"]
        spec["template"] = {**template, "spec": pods.spec_with_defaults(template.get("spec") or {})}
    return {**workload, "spec": spec}


def workload_faults(workload: Json) -> Iterator[Cause]:
    spec = spec_of(workload)
    if not spec.get("selector"):
        yield required("spec.selector")
    template = spec.get("template") or {}
    if spec.get("selector") and not from_object(spec["selector"]).matches(labels_of(template)):
        yield invalid_value(
            "spec.template.metadata.labels", labels_of(template), "`selector` does not match template `labels`"
        )
    yield from pods.spec_faults(template.get("spec") or {}, "spec.template.spec")


def workload_update_faults(old: Json, new: Json) -> Iterator[Cause]:
    if spec_of(old).get("selector") != spec_of(new).get("selector"):
        yield invalid_value("spec.selector", spec_of(new).get("selector"), "field is immutable")


def priority_defaults(priority: Json) -> Json:
    return {"preemptionPolicy": "PreemptLowerPriority", **priority, "value": priority.get("value", 0)}


def priority_update_faults(old: Json, new: Json) -> Iterator[Cause]:
    for field in ("value", "preemptionPolicy"):
        if old.get(field) != new.get(field):
            yield forbidden_value(field, "may not be changed in an update.")


def budget_faults(budget: Json) -> Iterator[Cause]:
    spec = spec_of(budget)
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")


def claim_defaults(claim: Json) -> Json:
    return {**claim, "spec": {"volumeMode": "Filesystem", **spec_of(claim)}}


def claim_faults(claim: Json) -> Iterator[Cause]:
    spec = spec_of(claim)
    if not spec.get("accessModes"):
        yield required("spec.accessModes", "at least 1 access mode is required")
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        yield required("spec.resources[storage]")


def event_faults(event: Json) -> Iterator[Cause]:
    namespace = (event.get("involvedObject") or {}).get("namespace") or "default"
    if namespace != meta(event).get("namespace"):
        yield invalid_value("involvedObject.namespace", namespace, "does not match event.namespace")


def no_faults(*_: Json) -> Iterator[Cause]:
    return iter(())


def unchanged(obj: Json) -> Json:
    return obj
