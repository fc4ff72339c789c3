"""The fleet as Prometheus series. Collected from memory at each scrape, so a series ends with its job or device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from trainyard.monitor.core.fleet import Fleet


class FleetCollector(Collector):
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def collect(self) -> Iterator[Metric]:
        yield from self._jobs()
        yield from self._devices()

    def _jobs(self) -> Iterator[Metric]:
        active = GaugeMetricFamily("trainyard_jobs", "Jobs that have not ended", labels=["framework", "state"])
        counts = Counter((job.framework, job.state.value) for job in self._fleet.active())
        for (framework, state), count in counts.items():
            active.add_metric([framework, state], count)
        yield active
        ended = CounterMetricFamily("trainyard_jobs_ended", "Jobs that have ended", labels=["framework", "state"])
        for (framework, state), count in self._fleet.counts.items():
            ended.add_metric([framework, state], count)
        yield ended
        labels = ["job_id", "name", "framework", "project"]
        cpu = GaugeMetricFamily("trainyard_job_cpu_cores", "Cores that a running job uses", labels=labels)
        memory = GaugeMetricFamily("trainyard_job_memory_bytes", "Resident memory of a running job", labels=labels)
        for job in self._fleet.active():
            if job.usage:
                values = [job.job_id, job.name, job.framework, job.project]
                cpu.add_metric(values, job.usage.get("cpu_cores") or 0.0)
                memory.add_metric(values, job.usage.get("memory_used") or 0)
        yield cpu
        yield memory

    def _devices(self) -> Iterator[Metric]:
        labels = ["node", "device", "kind", "model"]
        families = {
            "utilisation": GaugeMetricFamily("trainyard_device_utilisation_ratio", "Busy share, 0 to 1", labels=labels),
            "memory_used": GaugeMetricFamily("trainyard_device_memory_used_bytes", "Memory in use", labels=labels),
            "memory_total": GaugeMetricFamily("trainyard_device_memory_bytes", "Memory that there is", labels=labels),
            "power_watts": GaugeMetricFamily("trainyard_device_power_watts", "Power drawn", labels=labels),
            "temperature_celsius": GaugeMetricFamily("trainyard_device_temperature_celsius", "Heat", labels=labels),
        }
        for node, sample in self._fleet.devices.items():
            for device in sample.devices:
                for name, family in families.items():
                    value = getattr(device, name)
                    if value is not None:
                        family.add_metric([node, device.id, device.kind, device.model], value)
        yield from families.values()
