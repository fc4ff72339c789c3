"""Which accelerators of a machine each process of a job gets. Pure.

Whole devices belong to one process at a time. A share is a promise among jobs that asked for shares; nothing but their own
good behaviour enforces it on one machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.launcher.core.plan import places

Given = tuple[tuple[str, ...], ...]
"""Rank → the ids of its devices."""


@dataclass(frozen=True, slots=True)
class Device:
    id: str
    """As the variable takes it: the UUID of an NVIDIA GPU or MIG slice."""
    kind: str
    product: str
    """In the vendor's own words."""
    resource: str
    """What a pod would ask for."""
    visible: str
    """The variable that tells a process which devices are its own."""
    memory: int | None = None
    """Bytes."""
    driver: str | None = None


@dataclass(frozen=True, slots=True)
class Want:
    """What one process asks for."""

    count: int
    kind: str
    share: float = 1.0
    """Of one device; 1: whole devices."""
    resource: str | None = None
    products: frozenset[str] = frozenset()
    """In the vendor's own words; empty: any."""

    def takes(self, device: Device) -> bool:
        if self.resource is not None:
            return device.resource == self.resource
        # A slice is only given to who asks for it by its name.
        return device.kind == self.kind and "/mig-" not in device.resource and self._means(device)

    def _means(self, device: Device) -> bool:
        return not self.products or device.product in self.products


def wants_of(spec: JobSpec, resolution: Resolution | None) -> tuple[Want, ...]:
    """One for each rank; empty where no rank asks for any."""
    wants = tuple(
        Want(
            asked.count * place.starts,
            asked.kind,
            asked.share or 1.0,
            asked.resource,
            _products(resolution, place.role),
        )
        for place, role in places(spec)
        for asked in (role.resources.accelerators,)
    )
    return wants if any(want.count for want in wants) else ()


def _products(resolution: Resolution | None, role: str) -> frozenset[str]:
    """What the matrix chose for a role; what stands beside them all is the first role's."""
    if resolution is None:
        return frozenset()
    return frozenset(resolution.roles.get(role, resolution).node_labels.values())


class Pool:
    def __init__(self, devices: Sequence[Device] = ()) -> None:
        self._known = tuple(devices)
        self.devices = self._known
        """Those that are there."""
        self._free = {device.id: 1.0 for device in self._known}
        self._held: dict[str, list[tuple[str, float]]] = {}

    @property
    def free(self) -> float:
        """Devices, and shares of them."""
        return sum(self._free[device.id] for device in self.devices)

    def see(self, ids: Collection[str]) -> None:
        """Which devices are there now: one that is gone is given to nobody until it comes back."""
        self.devices = tuple(device for device in self._known if device.id in ids)

    def could(self, wants: Sequence[Want]) -> bool:
        """Whether it would fit if nobody held anything."""
        return Pool(self.devices).take("", wants) is not None

    def take(self, job_id: str, wants: Sequence[Want]) -> Given | None:
        """Devices for every rank, or None and nothing taken."""
        held: list[tuple[str, float]] = []
        given: dict[int, tuple[str, ...]] = {}
        # Whole ones first: shares fit in beside others.
        for rank in sorted(range(len(wants)), key=lambda rank: -wants[rank].share):
            found = self._find(wants[rank])
            if found is None:
                self._return(held)
                return None
            for device in found:
                self._free[device] -= wants[rank].share
                held.append((device, wants[rank].share))
            given[rank] = found
        self._held[job_id] = held
        return tuple(given[rank] for rank in range(len(wants)))

    def hold(self, job_id: str, wants: Sequence[Want], given: Given) -> None:
        """What a job had before a restart; a device that is gone since then is passed over."""
        if job_id in self._held:
            return
        held = [
            (device, want.share)
            for want, devices in zip(wants, given, strict=False)
            for device in devices
            if device in self._free
        ]
        for device, share in held:
            self._free[device] -= share
        self._held[job_id] = held

    def renew(self, job_id: str, wants: Sequence[Want]) -> Given | None:
        """Devices for another attempt, of those that are there now. None: not to be had yet; the job keeps what it has."""
        held = self._held.pop(job_id, [])
        self._return(held)
        given = self.take(job_id, wants)
        if given is None:
            for device, share in held:
                self._free[device] -= share
            self._held[job_id] = held
        return given

    def extend(self, job_id: str, wants: Sequence[Want]) -> bool:
        """Whether there will be devices for another attempt, once the present one has ended: what that takes is kept beside
        what the job holds."""
        before = _sums(self._held.get(job_id, ()))
        if self.renew(job_id, wants) is None:
            return False
        taken = _sums(self._held[job_id])
        for device, share in before.items():
            more = share - taken[device]
            if more > 0:
                self._free[device] = round(self._free[device] - more, 6)
                self._held[job_id].append((device, more))
        return True

    def give_back(self, job_id: str) -> None:
        self._return(self._held.pop(job_id, []))

    def _return(self, held: Sequence[tuple[str, float]]) -> None:
        for device, share in held:
            self._free[device] = min(1.0, round(self._free[device] + share, 6))

    def _find(self, want: Want) -> tuple[str, ...] | None:
        usable = [
            device.id for device in self.devices if want.takes(device) and self._free[device.id] >= want.share - 1e-9
        ]
        if want.share < 1.0:  # the fullest that still has room
            usable.sort(key=lambda device: self._free[device])
        return tuple(usable[: want.count]) if len(usable) >= want.count else None


def _sums(held: Sequence[tuple[str, float]]) -> defaultdict[str, float]:
    """Device → all that is held of it."""
    sums: defaultdict[str, float] = defaultdict(float)
    for device, share in held:
        sums[device] += share
    return sums
