"""Pods: what the server fills in, what it refuses, what may change."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.cluster_double.core.errors import Cause, duplicate_value, forbidden_value, invalid_value, required
from trainyard.cluster_double.core.objects import Json, spec_of
from trainyard.cluster_double.core.quantities import amount
from trainyard.cluster_double.core.rules import names

_POLICIES = ("Always", "OnFailure", "Never")
UPDATE_FAULT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def with_defaults(pod: Json) -> Json:
    spec = {"enableServiceLinks": True, **spec_with_defaults(spec_of(pod))}
    for group in ("containers", "initContainers"):
        if group in spec:
            spec[group] = [_requesting(container) for container in spec[group]]
    return {**pod, "spec": spec}


def spec_with_defaults(spec: Json) -> Json:
    """Of a pod's or a template's spec."""
    filled = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        **spec,
    }
    if "serviceAccountName" in filled:
        filled["serviceAccount"] = filled["serviceAccountName"]
    for group in ("containers", "initContainers"):
        if group in filled:
            filled[group] = [_container(container) for container in filled[group]]
    if "volumes" in filled:
        filled["volumes"] = [_volume(volume) for volume in filled["volumes"]]
    return filled


def _container(container: Json) -> Json:
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2]
    latest = "@" not in tag and (":" not in tag or tag.endswith(":latest"))
    filled = {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always" if latest else "IfNotPresent",
        **container,
    }
    if "ports" in filled:
        filled["ports"] = [{"protocol": "TCP", **port} for port in filled["ports"]]
    if "env" in filled:
        filled["env"] = [_variable(variable) for variable in filled["env"]]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in filled:
            usual = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
            filled[probe] = {**usual, **filled[probe]}
    return filled


def _variable(variable: Json) -> Json:
    source = variable.get("valueFrom") or {}
    if "fieldRef" not in source:
        return variable
    return {**variable, "valueFrom": {**source, "fieldRef": {"apiVersion": "v1", **source["fieldRef"]}}}


def _volume(volume: Json) -> Json:
    if set(volume) == {"name"}:
        return {**volume, "emptyDir": {}}
    for kind in ("configMap", "secret", "projected", "downwardAPI"):
        if kind in volume:
            return {**volume, kind: {"defaultMode": 420, **volume[kind]}}
    return volume


def _requesting(container: Json) -> Json:
    """What is limited but not requested is requested as limited; only in pods, not in templates."""
    resources = container["resources"]
    limits = resources.get("limits")
    if not limits:
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **(resources.get("requests") or {})}}}


def quality(spec: Json) -> str:
    """The quality-of-service class, from cpu and memory alone."""
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    resources = [container.get("resources") or {} for container in every]
    counted = [
        {name: value for name, value in (one.get(part) or {}).items() if name in {"cpu", "memory"} and amount(value)}
        for one in resources
        for part in ("requests", "limits")
    ]
    if not any(counted):
        return "BestEffort"
    pairs = list(zip(counted[::2], counted[1::2], strict=True))
    guaranteed = all(
        set(limits) == {"cpu", "memory"}
        and all(amount(requests.get(name, limits[name])) == amount(limits[name]) for name in limits)
        for requests, limits in pairs
    )
    return "Guaranteed" if guaranteed else "Burstable"


def faults(pod: Json) -> Iterator[Cause]:
    yield from spec_faults(spec_of(pod), "spec")


def spec_faults(spec: Json, at: str) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield required(f"{at}.containers")
    seen: set[str] = set()
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            where = f"{at}.{group}[{index}]"
            yield from _container_faults(container, where)
            if container.get("name") in seen:
                yield duplicate_value(f"{where}.name", container["name"])
            seen.add(container.get("name", ""))
    policy = spec.get("restartPolicy")
    if policy not in _POLICIES:
        # Kubernetes names these in the order of their declaration, not of the alphabet.
        listed = ", ".join(f'"{one}"' for one in _POLICIES)
        yield Cause(
            f"{at}.restartPolicy",
            f'Unsupported value: "{policy}": supported values: {listed}',
            "FieldValueNotSupported",
        )
    for field in ("hostname", "subdomain"):
        if spec.get(field) and (fault := names.label_fault(spec[field])):
            yield invalid_value(f"{at}.{field}", spec[field], fault)


def _container_faults(container: Json, at: str) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{at}.name")
    elif fault := names.label_fault(name):
        yield invalid_value(f"{at}.name", name, fault)
    if not container.get("image"):
        yield required(f"{at}.image")
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    for kind, wanted in (resources.get("requests") or {}).items():
        if kind in limits and amount(wanted) > amount(limits[kind]):
            yield invalid_value(
                f"{at}.resources.requests", wanted, f"must be less than or equal to {kind} limit of {limits[kind]}"
            )
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield required(f"{at}.env[{index}].name")


def update_faults(old: Json, new: Json) -> Iterator[Cause]:
    before, after = _fixed(spec_of(old)), _fixed(spec_of(new))
    if before != after:
        yield forbidden_value("spec", UPDATE_FAULT)


def _fixed(spec: Json) -> Json:
    """The spec without what may change."""
    kept = {name: value for name, value in spec.items() if name not in {"activeDeadlineSeconds", "tolerations"}}
    for group in ("containers", "initContainers"):
        if group in kept:
            kept[group] = [{key: v for key, v in one.items() if key != "image"} for one in kept[group]]
    if not kept.get("nodeName"):
        kept.pop("nodeSelector", None) if kept.get("schedulingGates") else None
    kept.pop("schedulingGates", None)
    return kept
