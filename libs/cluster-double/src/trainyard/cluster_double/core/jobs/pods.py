"""The pod that a job makes: its template, with the marks by which the job finds and counts it."""

from __future__ import annotations

from trainyard.cluster_double.core.jobs.decide import New
from trainyard.cluster_double.core.jobs.tally import FAILURES
from trainyard.cluster_double.core.objects import Json, meta, name_of, spec_of, uid_of
from trainyard.cluster_double.core.rules.jobs import INDEX, TRACKING

_ENV = "JOB_COMPLETION_INDEX"


def build(job: Json, new: New) -> Json:
    spec = spec_of(job)
    template: Json = spec["template"]
    metadata: Json = {
        "labels": dict(meta(template).get("labels") or {}),
        "annotations": dict(meta(template).get("annotations") or {}),
        "finalizers": [TRACKING],
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": name_of(job),
                "uid": uid_of(job),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    pod_spec = dict(template["spec"])
    prefix = f"{name_of(job)}-"
    if new.index is not None:
        metadata["labels"][INDEX] = metadata["annotations"][INDEX] = str(new.index)
        if spec.get("backoffLimitPerIndex") is not None:
            metadata["annotations"][FAILURES] = str(new.failures)
        pod_spec["hostname"] = f"{name_of(job)}-{new.index}"
        prefix = f"{name_of(job)}-{new.index}-"
        for group in ("initContainers", "containers"):
            if group in pod_spec:
                pod_spec[group] = [_knowing_its_index(container) for container in pod_spec[group]]
    metadata["generateName"] = prefix
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": pod_spec}


def _knowing_its_index(container: Json) -> Json:
    present = container.get("env") or []
    if any(variable["name"] == _ENV for variable in present):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*present, {"name": _ENV, "valueFrom": source}]}
