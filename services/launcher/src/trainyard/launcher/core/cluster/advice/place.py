"""The cluster itself and the namespace: versions, rights, storage. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.common.contract import crd
from trainyard.common.contract.findings import Finding
from trainyard.launcher.core.cluster.advice.words import fault, note, of_running, ok
from trainyard.launcher.core.cluster.survey import Survey

OLDEST = (1, 30)
"""As the chart says. Sidecars that end with their pod, CEL rules and retries by index are on by default since 1.29."""


def version(survey: Survey) -> Iterator[Finding]:
    if survey.minor >= OLDEST:
        yield ok("Kubernetes", survey.version)
    else:
        oldest = ".".join(str(part) for part in OLDEST)
        yield fault("Kubernetes", f"{survey.version} is too old: {oldest} is needed at least")


def rights(survey: Survey) -> Iterator[Finding]:
    if survey.denied:
        text = f"this account may not: {', '.join(str(right) for right in survey.denied)}"
        yield fault("rights", text)
    else:
        yield ok("rights", "this account may do everything that is needed")


def namespace(survey: Survey) -> Iterator[Finding]:
    if not survey.exists:
        yield note("namespace", f"{survey.namespace} is not there yet")
    elif survey.security:
        text = f"{survey.namespace} enforces the pod security standard {survey.security}"
        yield ok("namespace", text)
    else:
        yield ok("namespace", f"{survey.namespace} enforces no pod security standard")


def resource(survey: Survey) -> Iterator[Finding]:
    if survey.definition is None:
        text = "its definition is not there: jobs come over HTTP only, until contract/crd.yaml is applied"
        yield note("TrainingJob", text)
        return
    if not survey.definition:
        yield note("TrainingJob", "its definition cannot be seen: this account may not get CustomResourceDefinitions")
        return
    versions = {item["name"]: item for item in survey.definition.get("spec", {}).get("versions", ())}
    served = (
        versions.get(crd.VERSION, {}).get("schema", {}).get("openAPIV3Schema", {}).get("properties", {}).get("spec", {})
    )
    missing = sorted(crd.schema()["properties"]["spec"]["properties"].keys() - served.get("properties", {}).keys())
    if missing:
        names = ", ".join(missing[:3])
        yield fault(
            "TrainingJob", f"its definition is an older one and does not know {names}: apply contract/crd.yaml again"
        )
    else:
        yield ok("TrainingJob", f"{crd.GROUP}/{crd.VERSION} is served")


def claims(survey: Survey) -> Iterator[Finding]:
    shared = [claim.name for claim in survey.claims or () if claim.shared]
    if shared:
        text = f"claims in {survey.namespace} that many pods may write into: {', '.join(shared)}"
        yield ok("results", text)
    elif survey.claims is not None:
        text = (
            f"{survey.namespace} has no claim that is ReadWriteMany: results and checkpoints end with their pods, unless "
            "TRAINYARD_OUTPUT_CLAIM names one"
        )
        yield note("results", text)


def classes(survey: Survey) -> Iterator[Finding]:
    if survey.classes is None:
        yield note("storage", "cannot be seen: this account may not list StorageClasses")
        return
    default = [name for name, is_default in survey.classes.items() if is_default]
    if default:
        yield ok("storage", f"{default[0]} is the default StorageClass")
    else:
        there = ", ".join(survey.classes) or "none at all"
        text = f"no StorageClass is the default ({there}): claims stay pending unless the chart's values name one"
        yield note("storage", text)


def services(survey: Survey) -> Iterator[Finding]:
    for service in survey.services or ():
        yield of_running(service.name, service, "it runs")
    if not survey.services:
        yield note("Trainyard", f"not installed in {survey.namespace}: `yard k8s install`")
