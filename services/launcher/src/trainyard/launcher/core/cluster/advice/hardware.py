"""Nodes, what hardware they offer, and who tells how busy it is. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from trainyard.common.contract.findings import Finding
from trainyard.launcher.core.cluster.advice.words import fault, note, of_running, ok
from trainyard.launcher.core.cluster.survey import Survey

_HARDWARE = re.compile(
    r"feature\.node\.kubernetes\.io/pci-(?:(?:03|0b|12)[0-9a-f]{2}_)?(?P<vendor>10de|1002|19e5)\.present"
)
"""Display controllers, co-processors and processing accelerators. Source: NFD, `deviceClassWhitelist`."""
_VENDORS = {"10de": ("NVIDIA", "nvidia.com/"), "1002": ("AMD", "amd.com/"), "19e5": ("Huawei", "huawei.com/")}
"""PCI vendor → its name, and the domain of what its device plugin offers. Source: pci-ids.ucw.cz, the plugins' READMEs."""
_EXPORTERS = {"nvidia.com/": "dcgm-exporter", "amd.com/": "metrics-exporter", "huawei.com/": "npu-exporter"}
_NO_DEVICES = ("hugepages-", "attachable-volumes-")


def nodes(survey: Survey) -> Iterator[Finding]:
    if survey.nodes is None:
        yield fault("nodes", "cannot be seen: this account may not list nodes")
        return
    well = [node for node in survey.nodes if node.fault is None]
    cores = sum(node.cpu for node in well)
    text = f"{len(well)} of {len(survey.nodes)} take pods, with {cores:g} cores"
    yield Finding(level="ok" if well else "fault", subject="nodes", text=text)
    for node in survey.nodes:
        if node.fault is not None:
            yield note(f"node {node.name}", node.fault)


def accelerators(survey: Survey) -> Iterator[Finding]:
    found: Counter[str] = Counter()
    for node in survey.nodes or ():
        devices = {name: n for name, n in node.resources.items() if not name.startswith(_NO_DEVICES)}
        found.update({name: int(count) for name, count in devices.items() if node.fault is None})
        for vendor in sorted({match["vendor"] for label in node.labels if (match := _HARDWARE.fullmatch(label))}):
            name, domain = _VENDORS[vendor]
            if not any(resource.startswith(domain) and count for resource, count in devices.items()):
                text = (
                    f"it has a device of {name} and offers no {domain}…: its device plugin is missing or does not run"
                )
                yield fault(f"node {node.name}", text)
    offered = ", ".join(f"{count} {name}" for name, count in sorted(found.items()) if count)
    if offered:
        yield ok("accelerators", offered)
    elif survey.nodes is not None:
        text = "no node offers any: jobs that ask for one are rejected; a device plugin makes them known"
        yield note("accelerators", text)


def products(survey: Survey) -> Iterator[Finding]:
    nameless = [
        node.name
        for node in survey.nodes or ()
        if node.resources.get("nvidia.com/gpu") and "nvidia.com/gpu.product" not in node.labels
    ]
    if nameless:
        text = (
            f"{', '.join(nameless[:3])}{' …' if len(nameless) > 3 else ''}: no label nvidia.com/gpu.product, so jobs that "
            "name a product are not placed there; GPU feature discovery sets it"
        )
        yield note("GPU products", text)


def exporters(survey: Survey) -> Iterator[Finding]:
    domains = {domain for node in survey.nodes or () for domain in _EXPORTERS if _offers(node.resources, domain)}
    for domain in sorted(domains):
        name = _EXPORTERS[domain]
        found = [daemon for daemon in survey.daemons or () if name in daemon.name]
        if found:
            yield of_running("metrics", found[0], "nodes tell how busy their accelerators are")
        elif survey.daemons is not None:
            text = f"no {name} runs: how busy the accelerators of {domain.rstrip('/')} are is not known"
            yield note("metrics", text)


def _offers(resources: dict[str, float], domain: str) -> bool:
    return any(name.startswith(domain) and count for name, count in resources.items())
