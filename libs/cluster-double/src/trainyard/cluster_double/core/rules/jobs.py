"""Jobs: defaults, the labels by which their pods are found, and what may not change."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.cluster_double.core.errors import Cause, invalid_value, required, shown, unsupported_value
from trainyard.cluster_double.core.objects import Json, labels_of, meta, name_of, spec_of, status_of, uid_of, with_meta
from trainyard.cluster_double.core.rules import pods

UID = "batch.kubernetes.io/controller-uid"
NAME = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"
TRACKING = "batch.kubernetes.io/job-tracking"
UNLIMITED = 2**31 - 1
_INDEXED_ONLY = ("backoffLimitPerIndex", "maxFailedIndexes")


def with_defaults(job: Json) -> Json:
    spec = spec_of(job)
    filled = {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False, **spec}
    if "completions" not in spec and "parallelism" not in spec:
        filled["completions"] = 1
    filled.setdefault("parallelism", 1)
    filled.setdefault("backoffLimit", UNLIMITED if "backoffLimitPerIndex" in spec else 6)
    filled.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    template = filled.get("template") or {}
    filled["template"] = {**template, "spec": _template_defaults(template.get("spec") or {})}
    if "podFailurePolicy" in filled:
        rules = [_rule(rule) for rule in filled["podFailurePolicy"].get("rules") or ()]
        filled["podFailurePolicy"] = {**filled["podFailurePolicy"], "rules": rules}
    return {**job, "spec": filled}


def _template_defaults(spec: Json) -> Json:
    filled = pods.spec_with_defaults(spec)
    if "restartPolicy" not in spec:
        filled["restartPolicy"] = "Always"
    return filled


def _rule(rule: Json) -> Json:
    if "onPodConditions" not in rule:
        return rule
    return {**rule, "onPodConditions": [{"status": "True", **pattern} for pattern in rule["onPodConditions"]]}


def prepare(job: Json) -> Json:
    """A new job's selector and labels, once its uid is known."""
    spec = spec_of(job)
    if spec.get("manualSelector"):
        return job
    marks = {UID: uid_of(job), NAME: name_of(job), "controller-uid": uid_of(job), "job-name": name_of(job)}
    template = with_meta(spec["template"], labels={**labels_of(spec["template"]), **marks})
    selector = {"matchLabels": {UID: uid_of(job)}}
    prepared = {**job, "spec": {**spec, "selector": selector, "template": template}}
    return prepared if meta(job).get("labels") else with_meta(prepared, labels=labels_of(template))


def faults(job: Json) -> Iterator[Cause]:
    spec = spec_of(job)
    for field in (
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
        *_INDEXED_ONLY,
    ):
        value = spec.get(field)
        if value is not None and value < 0:
            yield invalid_value(f"spec.{field}", value, "must be greater than or equal to 0")
    indexed = spec["completionMode"] == "Indexed"
    if spec["completionMode"] not in {"Indexed", "NonIndexed"}:
        yield unsupported_value("spec.completionMode", spec["completionMode"], ("Indexed", "NonIndexed"))
    elif indexed and spec.get("completions") is None:
        yield required("spec.completions", "when completion mode is Indexed")
    if not indexed and spec.get("backoffLimitPerIndex") is not None:
        yield invalid_value(
            "spec.backoffLimitPerIndex", spec["backoffLimitPerIndex"], "requires indexed completion mode"
        )
    if indexed and len(f"{name_of(job)}-{(spec.get('completions') or 1) - 1}") > 63:
        longest = f"{name_of(job)}-{(spec.get('completions') or 1) - 1}"
        yield invalid_value("metadata.name", longest, "will not able to create pod with invalid DNS label: " + longest)
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy == "Always":
        yield required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif policy == "OnFailure" and "podFailurePolicy" in spec:
        yield invalid_value(
            "spec.template.spec.restartPolicy", policy, 'only "Never" is supported when podFailurePolicy is specified'
        )
    yield from pods.spec_faults(spec["template"]["spec"], "spec.template.spec")


def update_faults(old: Json, new: Json) -> Iterator[Cause]:
    before, after = spec_of(old), spec_of(new)
    if before.get("completions") != after.get("completions") and not _may_resize(before, after):
        yield invalid_value("spec.completions", after.get("completions"), "field is immutable")
    fixed = ["selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    for field in fixed:
        if before.get(field) != after.get(field):
            yield invalid_value(f"spec.{field}", shown(after.get(field)), "field is immutable")
    if before["template"] != after["template"] and not _template_may_change(old, before, after):
        yield invalid_value("spec.template", after["template"], "field is immutable")


def _may_resize(before: Json, after: Json) -> bool:
    """An indexed job grows and shrinks while completions and parallelism stay equal."""
    return before["completionMode"] == "Indexed" and after.get("completions") == after.get("parallelism")


def _template_may_change(old: Json, before: Json, after: Json) -> bool:
    """A job that is suspended and has not started may still be told where its pods run."""
    if not before.get("suspend") or status_of(old).get("startTime"):
        return False
    return _unplaced(before["template"]) == _unplaced(after["template"])


def _unplaced(template: Json) -> Json:
    spec = dict(template["spec"])
    for field in ("nodeSelector", "affinity", "tolerations", "schedulingGates"):
        spec.pop(field, None)
    spec["containers"] = [
        {name: value for name, value in one.items() if name != "resources"} for one in spec["containers"]
    ]
    metadata = {name: v for name, v in meta(template).items() if name not in {"labels", "annotations"}}
    return {"spec": spec, "metadata": metadata}
